"""Tertulia: people's conversations, all the way to a conversational agent that can be measured and trusted."""

__all__ = ["__version__"]

__version__ = "0.1.0"
