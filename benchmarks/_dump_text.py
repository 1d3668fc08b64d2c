"""Text for a generated dump: made-up words by Zipf's law among English function words, as sentences and as pieces of HTML.

All of it is escaped as it stands between the quotes of an attribute, and lies in pools that are made once: a body is a run of
pieces, a comment a run of sentences, from a place in the pool drawn by chance. Two bodies are hardly ever the same.
"""

from __future__ import annotations

import html
import random
from collections.abc import Sequence

import numpy as np

from _dump_profile import QUANTILES, SHARES
from _dump_statistics import LEVELS

_FUNCTION = """
    the of and to a in is that it for you with on as are this be have not but or from at can if I an my there they your we by
    what which will do when so about how would one all more out no some than has was up like just also only into other any
    them get make then does use because very should could their its these most may it's don't I'm where who over first much
    been after such two same each those many even before here through without
"""
FUNCTION_WORDS = _FUNCTION.split()
# About one word in sixty has a colour, so that a seeker's last word may please or not.
_FEELING = """
    good great thanks helpful nice best better love perfect useful interesting happy fine clear enjoy glad
    bad wrong problem worse hate useless terrible fail sad poor awful annoying lost confused
"""
FEELING_WORDS = _FEELING.split()
ONSETS = [
    "b",
    "br",
    "c",
    "ch",
    "d",
    "f",
    "g",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "",
]
VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "ou", "io"]
CODAS = ["n", "r", "s", "t", "l", "nd", "ng", "x", "", ""]
THANKS = (
    "Thanks, that is very helpful. ",
    "Great answer, thank you! ",
    "That works, thanks a lot. ",
    "Perfect, just what I needed. ",
)
WORDS = 40_000
FORMS = 7
PLAIN, CAPITAL, STOP, QUESTION, SHOUT, COMMA, QUOTED = range(FORMS)
ENDS = np.array([STOP] * 16 + [QUESTION] * 3 + [SHOUT])
INVERSE = 1 << 18
NEWLINE = "&#xA;"
P, P_END = "&lt;p&gt;", f"&lt;/p&gt;{NEWLINE}{NEWLINE}"


def zipf(count: int, power: float) -> np.ndarray:
    weights = 1 / (np.arange(count) + 2.7) ** power
    return weights / weights.sum()


def made_up_words(chance: random.Random) -> list[str]:
    """Distinct, the frequent ones short; some letters are not ASCII, but all are of Latin-1."""
    found: dict[str, None] = {}
    while len(found) < WORDS:
        count = 1 + min(3, len(found) * 4 // WORDS + chance.randrange(2))
        word = "".join(chance.choice(ONSETS) + chance.choice(VOWELS) + chance.choice(CODAS) for _ in range(count))
        if chance.random() < 0.018:
            word = word.replace("a", "é", 1).replace("o", "ö", 1).replace("u", "ü", 1)
        found[word] = None
    return list(found)


class Pool:
    """Pieces of text one after the other, of which runs are taken."""

    def __init__(self, text: str, at: np.ndarray, size: np.ndarray, starts: np.ndarray) -> None:
        self.text = text
        self.at = at  # where pieces begin in the text as it is escaped, and where the last ends
        self.size = size  # the same counted in characters that a reader sees
        self.starts = starts  # the pieces with which a run may begin

    @classmethod
    def of(cls, pieces: Sequence[str], starts: Sequence[int]) -> Pool:
        at = np.cumsum([0, *map(len, pieces)])
        size = np.cumsum([0, *(len(html.unescape(piece)) for piece in pieces)])
        return cls("".join(pieces), at, size, np.array(starts))

    def runs(self, rng: np.random.Generator, lengths: np.ndarray) -> list[str]:
        """Runs of whole pieces, at least one, of about so many characters each."""
        starts = self.starts[rng.integers(0, len(self.starts) * 99 // 100, len(lengths))]
        wanted = self.size[starts] + lengths
        stops = np.searchsorted(self.size, wanted).clip(max=len(self.size) - 1)
        shorter = np.maximum(stops - 1, 0)
        stops = np.where(wanted - self.size[shorter] < self.size[stops] - wanted, shorter, stops)
        stops = np.maximum(stops, starts + 1)
        text = self.text
        return [text[a:b] for a, b in zip(self.at[starts].tolist(), self.at[stops].tolist(), strict=True)]

    def cut_runs(self, rng: np.random.Generator, lengths: np.ndarray) -> list[str]:
        """As ``runs``, and one that is far too long ends early, at a word."""
        return [
            run if len(run) < 20 + 1.3 * length else cut(run, length)
            for run, length in zip(self.runs(rng, lengths), lengths.tolist(), strict=True)
        ]


def cut(text: str, length: float) -> str:
    end = text.find(" ", int(length))
    return text if end < 0 else text[:end].rstrip(",.?! ") + ". "


class Texts:
    """All pools of a dump; the same seed and size, the same text."""

    def __init__(self, seed: int, size: int) -> None:
        self.chance = random.Random(seed)
        rng = np.random.default_rng([seed, 1 << 40])
        made_up = made_up_words(self.chance)
        self.names = [word for word in made_up if word.isascii()]
        self.proper = [word.title() for word in self.names]
        self.addresses = [self._address() for _ in range(20_000)]
        few = FUNCTION_WORDS[:40] + self.names[:800]
        self.phrases = [" ".join(self.chance.choices(few, k=1 + n % 3)) for n in range(4000)]
        self.sentences = running_text(made_up, rng, size // 3)
        self.tags = self.names[200:1400]
        count = max(400, size // 320)
        lengths = 30 + 560 * rng.random(count)
        paragraphs = iter(self.sentences.cut_runs(rng, lengths))
        pieces = [self._piece(paragraph.strip()) for paragraph in paragraphs]
        self.pieces = Pool.of(pieces, [n for n, piece in enumerate(pieces) if piece.startswith(P)])
        some = self.sentences.cut_runs(rng, 10 + 90 * rng.random(max(100, count // 8)))
        links = [f"{P}{text.strip()} {self._link()}{P_END}" for text in some]
        self.links = Pool.of(links, range(len(links)))
        self.markers = [f"{P}&lt;strong&gt;EDIT:&lt;/strong&gt; {text.strip()}{P_END}" for text in some[:100]]

    def one_of(self, values: Sequence[str]) -> str:
        return values[int(self.chance.random() * len(values))]

    def _address(self) -> str:
        path = "/".join(self.chance.choices(self.names, k=self.chance.randrange(1, 4)))
        return f"http{'s' * (self.chance.random() < 0.6)}://www.{self.one_of(self.names)}.example/{path}"

    def _link(self) -> str:
        address = self.one_of(self.addresses)
        relation = " rel=&quot;nofollow noreferrer&quot;" if self.chance.random() < 0.6 else ""
        text = address if self.chance.random() < 0.12 else self.one_of(self.phrases)
        return f"&lt;a href=&quot;{address}&quot;{relation}&gt;{text}&lt;/a&gt;"

    def _piece(self, text: str) -> str:
        """The text as a paragraph, mostly."""
        kind = self.chance.random()
        if kind < 0.765:
            return f"{P}{text}{self._inline()}{P_END}"
        if kind < 0.855:
            quote = f"&lt;blockquote&gt;{NEWLINE}  {P}{text}&lt;/p&gt;{NEWLINE}&lt;/blockquote&gt;"
            return f"{quote}{NEWLINE}{NEWLINE}"
        if kind < 0.965:
            return self._items(text)
        if kind < 0.975:
            return self._code()
        number, name = int(1e9 * self.chance.random()), self.one_of(self.names)
        image = f"&lt;img src=&quot;https://i.{name}.example/{number}.png&quot; alt=&quot;{self.one_of(self.phrases)}&quot;&gt;"
        return f"{P}{image}{P_END}"

    def _inline(self) -> str:
        kind = self.chance.random()
        if kind > 0.42:
            return ""
        if kind > 0.375:
            return f"&lt;br&gt;{NEWLINE}{self.one_of(self.phrases)}"
        tag = "strong" if kind < 0.165 else "em" if kind < 0.335 else "code"
        return f" &lt;{tag}&gt;{self.one_of(self.phrases)}&lt;/{tag}&gt;."

    def _items(self, text: str) -> str:
        tag = "ul" if self.chance.random() < 0.735 else "ol"
        words = text.split()
        step = max(1, len(words) // self.chance.randrange(2, 6))
        items = (" ".join(words[n : n + step]) for n in range(0, len(words), step))
        lines = "".join(f"&lt;li&gt;{item}&lt;/li&gt;{NEWLINE}" for item in items)
        return f"&lt;{tag}&gt;{NEWLINE}{lines}&lt;/{tag}&gt;{NEWLINE}{NEWLINE}"

    def _code(self) -> str:
        lines = "".join(
            "    " * self.chance.randrange(3)
            + f"{self.one_of(self.names)} = {self.one_of(self.names)}({self.chance.randrange(100)}) &amp;lt; x{NEWLINE}"
            for _ in range(self.chance.randrange(2, 12))
        )
        return f"&lt;pre&gt;&lt;code&gt;{lines}&lt;/code&gt;&lt;/pre&gt;{NEWLINE}{NEWLINE}"

    def bodies(
        self, rng: np.random.Generator, lengths: np.ndarray, linked: np.ndarray, marked: np.ndarray
    ) -> list[str]:
        """HTML of about so many characters; ``linked`` and ``marked`` say which have a link and a marker."""
        linking = np.flatnonzero(linked)
        # A paragraph with a link has about 190 characters, most of them of the link.
        several = np.minimum(rng.exponential(430, len(linking)), np.maximum(0, lengths[linking] - 120)) + 100
        ends = dict(zip(linking.tolist(), self.links.runs(rng, several), strict=True))
        rest = lengths.copy()
        rest[linking] -= [len(end) * 0.86 for end in ends.values()]
        begins = self.pieces.runs(rng, rest - 20)
        short = np.flatnonzero(rest < 260)
        for place, text in zip(
            short.tolist(), self.sentences.cut_runs(rng, np.maximum(8, rest[short] - 9)), strict=True
        ):
            begins[place] = f"{P}{text.rstrip()}{P_END}"
        for place in np.flatnonzero(marked).tolist():
            ends[place] = ends.get(place, "") + self.one_of_drawn(rng, self.markers)
        return [(text + ends[n] if n in ends else text).removesuffix(NEWLINE) for n, text in enumerate(begins)]

    def comments(self, rng: np.random.Generator, lengths: np.ndarray, by_seeker: np.ndarray) -> list[str]:
        """Texts of comments: links by the profile, thanks by every fourth seeker."""
        count = len(lengths)
        chance = rng.random(count)
        linked = chance < SHARES["comment linked"]
        thanks = by_seeker & (rng.random(count) < 0.25)
        texts = self.sentences.cut_runs(rng, np.maximum(12, lengths - 75 * linked - 25 * thanks))
        for place in np.flatnonzero(thanks).tolist():
            texts[place] = THANKS[place % len(THANKS)] + texts[place]
        for place in np.flatnonzero(linked).tolist():
            address = self.one_of_drawn(rng, self.addresses)
            if chance[place] < SHARES["comment with [text](url)"]:
                address = f"[{self.one_of_drawn(rng, self.phrases)}]({address})"
            texts[place] += address
        for place in np.flatnonzero(chance > 1 - SHARES["comment marked"]).tolist():
            texts[place] += "Edit: it has changed."
        return [text.rstrip() for text in texts]

    @staticmethod
    def one_of_drawn(rng: np.random.Generator, values: Sequence[str]) -> str:
        return values[int(rng.random() * len(values))]


def running_text(made_up: list[str], rng: np.random.Generator, size: int) -> Pool:
    """Sentences, of which each may begin a run."""
    words = FUNCTION_WORDS + FEELING_WORDS + made_up
    weights = np.concatenate(
        [
            0.47 * zipf(len(FUNCTION_WORDS), 0.9),
            np.full(len(FEELING_WORDS), 0.016 / len(FEELING_WORDS)),
            0.514 * zipf(len(made_up), 1.02),
        ]
    )
    cumulative = np.cumsum(weights / weights.sum())
    # The inverse of the distribution at many places: a draw is one look.
    inverse = np.searchsorted(cumulative, (np.arange(INVERSE) + 0.5) / INVERSE).clip(0, len(words) - 1)
    count = max(3000, size // 6)
    drawn = inverse[rng.integers(0, INVERSE, count)]
    last = np.cumsum(2 + rng.gamma(2.2, 6.0, count // 8 + 2).astype(np.int64))
    last = np.append(last[last < count - 1], count - 1)
    form = np.where(rng.random(count) < 0.06, COMMA, PLAIN)
    form[rng.random(count) < 0.004] = QUOTED
    form[np.concatenate([[0], last[:-1] + 1])] = CAPITAL
    form[last] = ENDS[rng.integers(0, len(ENDS), len(last))]
    forms = [
        *(f"{word} " for word in words),
        *(f"{word[:1].upper()}{word[1:]} " for word in words),
        *(f"{word}. " for word in words),
        *(f"{word}? " for word in words),
        *(f"{word}! " for word in words),
        *(f"{word}, " for word in words),
        *(f"&quot;{word}&quot; " for word in words),
    ]
    # A character is a byte of Latin-1, so that running text is one gather.
    letters = np.frombuffer("".join(forms).encode("latin-1"), dtype=np.uint8)
    lengths = np.array([len(word) for word in forms])
    starts = np.cumsum(lengths) - lengths
    chosen = drawn + form * len(words)
    ends = np.cumsum(lengths[chosen])
    places = np.arange(ends[-1]) + np.repeat(starts[chosen] - ends + lengths[chosen], lengths[chosen])
    at = np.concatenate([[0], ends[last]])
    seen = np.concatenate([[0], np.cumsum(lengths[chosen] - 10 * (form == QUOTED))[last]])
    return Pool(letters[places].tobytes().decode("latin-1"), at, seen, np.arange(len(last)))


def quantities(name: str, rng: np.random.Generator, count: int) -> np.ndarray:
    """Drawn by the quantiles of the profile: straight lines between the levels, for lengths in the logarithm."""
    values = np.array(QUANTILES[name], dtype=float)
    at = rng.random(count)
    if values.min() >= 1:
        return np.exp(np.interp(at, LEVELS, np.log(values)))
    return np.interp(at, LEVELS, values)
