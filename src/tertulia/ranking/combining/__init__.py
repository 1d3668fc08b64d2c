"""How the scores of several rankers, and features, become one score: inputs, ways to combine them, and the choice among these."""
