"""Corpora made of corpora: splits, samples, merges."""
