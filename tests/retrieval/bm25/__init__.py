"""Tests of BM25."""
