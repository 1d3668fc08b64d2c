"""``rated-tsv``: prompts, responses and ratings."""
