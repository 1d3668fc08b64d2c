"""Corpora as other libraries have them."""
