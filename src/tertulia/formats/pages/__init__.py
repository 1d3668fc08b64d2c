"""``pages``: prompts and their responses from web pages, by CSS selectors that a small file names."""
