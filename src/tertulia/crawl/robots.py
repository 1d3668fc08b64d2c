"""``robots.txt`` (RFC 9309): what a site lets which robot ask for, and how fast.

The standard library's parser takes the first rule that fits and knows no wildcards; RFC 9309 takes the longest and has ``*``
and ``$``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

__all__ = ["ALLOW_ALL", "MOST_BYTES", "Rules", "parse_robots"]

MOST_BYTES = 512_000
"""So much of a file is read; the standard asks for 500 KiB at least."""
_MOST_RULES = 20_000
_TOKEN = re.compile(r"[A-Za-z_-]+")
_UNRESERVED = "/?#[]@!$&'()*+,;=:-._~"


@dataclass(frozen=True, slots=True)
class Rules:
    """What a ``robots.txt`` says to one robot: ``(allowed, pattern)`` in its order, and the seconds between requests."""

    rules: tuple[tuple[bool, str], ...] = ()
    delay_s: float | None = None

    def allows(self, target: str) -> bool:
        """Whether a path with its query may be asked for: the longest pattern that fits decides, of equals the one that allows."""
        path = _canonical(target)
        if path == "/robots.txt":
            return True
        best, allowed = -1, True
        for permits, pattern in self.rules:
            size = len(pattern)
            if (size > best or (size == best and permits)) and _fits(pattern, path):
                best, allowed = size, permits
        return allowed


ALLOW_ALL = Rules()


def parse_robots(data: bytes, product: str) -> Rules:
    """What a file says to the robot whose product token is ``product``: the groups that name it, or else those for ``*``.

    Whatever is no rule is passed over, as the standard asks. Only the first ``MOST_BYTES`` are looked at.
    """
    groups: dict[str, tuple[list[tuple[bool, str]], list[float]]] = {"": ([], []), "*": ([], [])}
    wanted = product.lower()
    named = False
    speaking_to: set[str] = set()
    heading = False
    text = data[:MOST_BYTES].decode("utf-8", "replace").removeprefix("\ufeff")
    # A line that was cut off says something else than it should.
    lines = re.split(r"\r\n|\r|\n", text)[: -1 if len(data) > MOST_BYTES else None]
    for line in lines:
        name, sign, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not sign:
            continue
        if name == "user-agent":
            if not heading:
                speaking_to = set()
            heading = True
            token = _TOKEN.match(value)
            if value.startswith("*"):
                speaking_to.add("*")
            elif token and token[0].lower() == wanted:
                speaking_to.add("")
                named = True
        elif name in {"allow", "disallow"}:
            heading = False
            if value.startswith(("/", "*")):
                for group in speaking_to:
                    if len(groups[group][0]) < _MOST_RULES:
                        groups[group][0].append((name == "allow", _pattern(value)))
        elif name == "crawl-delay":
            heading = False
            delay = _seconds(value)
            if delay is not None:
                for group in speaking_to:
                    groups[group][1].append(delay)
    rules, delays = groups["" if named else "*"]
    return Rules(tuple(rules), max(delays, default=None))


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _canonical(path: str) -> str:
    """A path with each byte written in one way: percent-encoded unless it may stand as it is (RFC 9309, 2.2.2)."""
    pieces = re.split(r"(%[0-9A-Fa-f]{2})", path)
    return "".join(_octet(piece) if at % 2 else quote(piece, safe=_UNRESERVED + "%") for at, piece in enumerate(pieces))


def _octet(encoded: str) -> str:
    byte = unquote_to_bytes(encoded)
    # Those that have a meaning in a path or a pattern keep their encoding.
    return byte.decode() if byte.isalnum() or byte in b"-._~" else encoded.upper()


def _pattern(value: str) -> str:
    return re.sub(r"\*+", "*", _canonical(value))


def _fits(pattern: str, path: str) -> bool:
    """Whether a path begins as a pattern says: ``*`` is anything, ``$`` at its end is the end. In linear time for each star."""
    anchored = pattern.endswith("$")
    first, *rest = (pattern[:-1] if anchored else pattern).split("*")
    if not path.startswith(first):
        return False
    if not rest:
        return not anchored or len(path) == len(first)
    at = len(first)
    for piece in rest[:-1]:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    last = rest[-1]
    return path.endswith(last) and len(path) - len(last) >= at if anchored else path.find(last, at) >= 0
