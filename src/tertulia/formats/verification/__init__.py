"""What publications state, held against a recount."""
