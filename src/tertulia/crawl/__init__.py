"""Fetching pages politely: addresses, the guarded crawler, its archive, and the main text of a page."""
