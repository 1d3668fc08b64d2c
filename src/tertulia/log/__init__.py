"""The log: every conversation, turn and rating, in SQLite or PostgreSQL."""
