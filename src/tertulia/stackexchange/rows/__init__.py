"""A line of a dump's table file is a row: what is wanted of it, and the scanner that reads it into Arrow."""
