"""The data model and the corpus on disk."""
