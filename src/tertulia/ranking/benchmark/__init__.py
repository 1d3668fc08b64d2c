"""The benchmark: all rankers on one set, each in a process of its own, with intervals, significance, cost, and a page."""
