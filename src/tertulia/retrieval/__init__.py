"""Retrieval: the matching score over a memory-mapped index."""
