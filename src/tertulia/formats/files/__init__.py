"""What formats share: sources, streaming readers, checked fields, cells, and what keeps order and groups on disk."""
