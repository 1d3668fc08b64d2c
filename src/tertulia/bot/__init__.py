"""The agent: components in order, a pipeline, a trace of every turn."""
