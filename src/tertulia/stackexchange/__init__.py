"""From a Stack Exchange data dump to dialogues: parse, narrow, finish."""
