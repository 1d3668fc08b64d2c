"""The pages and the HTTP API: one ASGI application."""
