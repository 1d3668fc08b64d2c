"""Finishing: what survives the tables becomes text, is judged by its ending, and is written as a corpus."""
