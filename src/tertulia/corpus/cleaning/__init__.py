"""Cleaning a corpus: filters that mark, drop or mask what they find, and the application of people's decisions."""
