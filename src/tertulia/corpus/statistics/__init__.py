"""Counts over a corpus or ranking set, and figures of them."""
