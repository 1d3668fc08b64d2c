"""Tests of the format for web pages."""
