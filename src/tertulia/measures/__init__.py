"""Measures: arrays or streams in, numbers out. No file, no corpus, no chance but what a seed gives."""
