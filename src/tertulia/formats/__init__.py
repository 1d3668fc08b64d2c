"""Outside formats, one module each, found through the registry."""
