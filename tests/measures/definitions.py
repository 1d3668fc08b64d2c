"""The agreement measures as their papers define them: slow and plain, over lists of units."""

import math
from collections import Counter
from itertools import permutations, product
from typing import Any


def alpha(units: list[list[Any]], level: str) -> float:
    """Krippendorff 2011: coincidences of all ordered pairs of values within units, and δ² of each pair of categories."""
    coincidences: Counter[tuple[Any, Any]] = Counter()
    for values in units:
        for one, other in permutations(values, 2):
            coincidences[one, other] += 1 / (len(values) - 1)
    categories = sorted({one for one, _ in coincidences})
    marginals = {c: sum(coincidences[c, k] for k in categories) for c in categories}
    total = sum(marginals.values())

    def difference(c: Any, k: Any) -> float:
        if level == "nominal":
            return float(c != k)
        if level == "interval":
            return float((c - k) ** 2)
        low, high = min(c, k), max(c, k)
        between = sum(marginals[g] for g in categories if low <= g <= high)
        return float((between - (marginals[c] + marginals[k]) / 2) ** 2)

    observed = sum(coincidences[c, k] * difference(c, k) for c, k in product(categories, repeat=2))
    expected = sum(marginals[c] * marginals[k] * difference(c, k) for c, k in product(categories, repeat=2))
    return math.nan if expected == 0 else 1 - (total - 1) * observed / expected


def cohen(pairs: list[tuple[Any, Any]], weights: str | None, categories: list[Any]) -> float:
    """Cohen 1960 and 1968: observed and expected disagreement of two annotators."""

    def disagreement(one: Any, other: Any) -> float:
        distance = abs(categories.index(one) - categories.index(other))
        return {None: float(distance > 0), "linear": float(distance), "quadratic": float(distance**2)}[weights]

    if not pairs:
        return math.nan
    observed = sum(disagreement(one, other) for one, other in pairs) / len(pairs)
    firsts, seconds = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    expected = (
        sum(firsts[a] * seconds[b] * disagreement(a, b) for a, b in product(categories, repeat=2)) / len(pairs) ** 2
    )
    return math.nan if expected == 0 else 1 - observed / expected


def agreeing_pairs(units: list[list[Any]]) -> float:
    """The mean over units with two values or more of the share of their ordered pairs that are equal."""
    shares = []
    for values in units:
        pairs = list(permutations(values, 2))
        if pairs:
            shares.append(sum(one == other for one, other in pairs) / len(pairs))
    return sum(shares) / len(shares) if shares else math.nan
