"""The offensive-language filter: what a bot does not say, and what it does not answer as if nothing had been said.

It is a lexicon (``lexicons/*.txt``) held against the words of a text. Spelling tricks are undone first: case, accents,
full-width and look-alike letters, digits and signs for letters, letters stretched, masked, spaced or dotted. Words
are matched whole, so that Scunthorpe, cocktails and classes pass.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import resources

from tertulia.errors import ConfigurationError

__all__ = ["CATEGORIES", "LANGUAGES", "OffensiveFilter"]

CATEGORIES = ("profanity", "slur", "sexual", "violent threat", "insult")
"""What the filter can object to."""

LANGUAGES = {"en": ("en",), "zh": ("zh", "en")}
"""The lexicons that serve a bot of each language: people who write Chinese swear in English too."""

_ALLOW = "allow"
_FORMS = frozenset({"noun", "verb", "stem"})

FILLERS = frozenset(
    "a absolute absolutely actually all always and an are as be big bloody come complete completely damn definitely down "
    "extremely find fucking goddamn going hunt incredibly just kind literally little most nothing but of one personally "
    "pretty quite real really right seriously simply so still such the then total totally truly utter utterly very".split()
)
"""The words that ``..`` in a phrase of a lexicon may stand for."""

_MOST_FILLERS = 3

# Written together or apart, in full or not: a phrase in a lexicon is written in full.
_CONTRACTIONS = {
    "i'm": ("i", "am"), "im": ("i", "am"), "i'll": ("i", "will"), "ima": ("i", "am", "going", "to"),
    "imma": ("i", "am", "going", "to"), "i'd": ("i", "would"), "you're": ("you", "are"), "youre": ("you", "are"),
    "ur": ("your",), "u": ("you",), "ya": ("you",), "r": ("are",), "gonna": ("going", "to"), "wanna": ("want", "to"),
    "you'll": ("you", "will"), "that's": ("that", "is"), "thats": ("that", "is"), "it's": ("it", "is"),
    "let's": ("let", "us"), "urself": ("yourself",), "yourselves": ("yourself",), "hoes": ("hoes",),
}  # fmt: skip

# Letters of other scripts that look like Latin ones, after case folding.
_LOOKALIKES = str.maketrans("аеорсухікѕјԁһɡαεοικνρτυ", "aeopcyxiksjdhgaeoiknptu")
_LEET = str.maketrans("013457$@!|€£", "oieastsailel")
_LEET_L = str.maketrans("1|!", "lll")
_MASKS = "*#%_"
_EDGES = "\"'`.,;:?()[]{}<>~“”„«»…–—-/\\+=&^"

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*|[0-9]+")
_ODD_CHUNK = re.compile(r"[^\s\"“”,;:?()\[\]{}<>~/\\…–—]+")
_LEET_SIGN = re.compile(r"[0-9$@!|€£*#%_.\-+]")
_RUN = re.compile(r"([a-z])\1+")
_STRETCH = re.compile(r"([a-z])\1{2,}")
_HAN = re.compile(r"[\u3400-\u9fff]")
_NOT_WORD = re.compile(r"[\W_]+")
_LONGEST_TERM = 24
"""Letters. No term is longer, and neither is a chunk that is looked at for tricks."""

# "Dick Something": a first name. Only the written case tells it from the word.
_NAME = re.compile(r"\bDick(?:'s)? (?:[A-Z]\.? )?[A-Z][a-z]+")


@dataclass(slots=True)
class _Lexicon:
    """Terms by how they are looked up: whole words, parts of words, phrases by their first word, and what is allowed."""

    words: dict[str, str] = field(default_factory=dict)
    stems: dict[str, str] = field(default_factory=dict)
    phrases: dict[str, list[tuple[list[frozenset[str]], str]]] = field(default_factory=dict)
    allowed: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    allowed_words: set[str] = field(default_factory=set)
    han: dict[str, str] = field(default_factory=dict)
    allowed_han: list[str] = field(default_factory=list)

    def add(self, term: str, category: str, forms: frozenset[str], where: str) -> None:
        if category != _ALLOW and category not in CATEGORIES:
            raise ConfigurationError(
                f"found the category {category!r}; expected one of {', '.join(CATEGORIES)} or {_ALLOW}", where=where
            )
        if not forms <= _FORMS:
            raise ConfigurationError(f"found the forms {sorted(forms)}; expected {sorted(_FORMS)}", where=where)
        term = _fold(term).strip()
        parts = term.split()
        if not parts:
            raise ConfigurationError("found no term; expected: term | category | forms", where=where)
        if _HAN.search(term):
            if category == _ALLOW:
                self.allowed_han.append(term)
            else:
                self.han[term] = category
        elif category == _ALLOW:
            if len(parts) == 1:
                self.allowed_words.add(term)
            for part in set(parts):
                self.allowed.setdefault(part, []).append(tuple(parts))
        elif len(parts) == 1:
            for form in _inflected(term, forms):
                self.words.setdefault(form, category)
            if "stem" in forms:
                self.stems[term] = category
        else:
            pattern = [frozenset(part.split("/")) for part in parts]
            for first in pattern[0]:
                self.phrases.setdefault(first, []).append((pattern, category))


def _inflected(term: str, forms: frozenset[str]) -> Iterator[str]:
    yield term
    if "noun" in forms or "verb" in forms:
        yield from (f"{term}s", f"{term}es", f"{term}z")
    if "verb" in forms:
        for stem in {term.removesuffix("e"), term, term + term[-1]}:
            yield from (f"{stem}{ending}" for ending in ("ing", "in", "ings", "ed", "er", "ers", "a", "as"))


def _read(language: str) -> Iterator[tuple[str, str, frozenset[str], str]]:
    file = resources.files("tertulia.bot").joinpath("lexicons", f"{language}.txt")
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            term, category, forms = ([part.strip() for part in line.split("|")] + ["", ""])[:3]
            yield term, category, frozenset(forms.split()), f"lexicons/{language}.txt:{number}"


class _Folding(dict[int, str | None]):
    """Drops accents and invisible characters; fills itself with the characters that it meets."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        self[code] = None if unicodedata.category(character) in {"Mn", "Me", "Cf"} else character
        return self[code]


_FOLDING = _Folding()


def _fold(text: str) -> str:
    """Lower case, no accents, no invisible characters, look-alike letters as the Latin ones."""
    text = text.casefold()
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text).translate(_FOLDING)
    return text.replace("’", "'").replace("‘", "'").casefold().translate(_LOOKALIKES)


class OffensiveFilter:
    """Says whether a text is offensive, and in which way.

    Parameters
    ----------
    language:
        The language of the bot, one of ``LANGUAGES``.
    extra:
        Terms of your own, written as in a lexicon: ``term``, or ``term | category | forms``; the category is profanity
        where none is given, and ``allow`` lifts an objection.

    Raises
    ------
    ConfigurationError
        There is no lexicon for the language, or a term is not written as it should be.

    Example
    -------
    >>> OffensiveFilter().objection("what the f.u.c.k")
    'profanity'
    >>> OffensiveFilter().objection("a cocktail with Dick Van Dyke in Scunthorpe") is None
    True
    """

    def __init__(self, language: str = "en", extra: Iterable[str] = ()) -> None:
        if language not in LANGUAGES:
            raise ConfigurationError(
                f"there is no offensive-language lexicon for {language!r}; there are {', '.join(LANGUAGES)}"
            )
        self._lexicon = lexicon = _Lexicon()
        for term, category, forms, where in itertools.chain.from_iterable(map(_read, LANGUAGES[language])):
            lexicon.add(term, category, forms, where)
        for line in extra:
            term, category, written = ([part.strip() for part in line.split("|")] + ["", ""])[:3]
            lexicon.add(term, category or CATEGORIES[0], frozenset(written.split()), f"extra term {line!r}")
        for word in lexicon.allowed_words:
            lexicon.words.pop(word, None)
        # Masked words ("f**k") are looked up among the terms of their length and first letter.
        self._by_shape: dict[tuple[str, int], list[str]] = {}
        for word in lexicon.words:
            if len(word) >= 4:
                self._by_shape.setdefault((word[0], len(word)), []).append(word)

    def objection(self, text: str) -> str | None:
        """The category of the first thing the filter objects to, one of ``CATEGORIES``; none where there is nothing."""
        if "Dick" in text:
            text = _NAME.sub(" ", text)
        folded = _fold(text)
        words = _WORD.findall(folded)
        return (
            self._in_words(words)
            or self._in_letters(words)
            or (self._in_tricks(folded) if _LEET_SIGN.search(folded) else None)
            or (self._in_han(folded) if self._lexicon.han else None)
        )

    def _in_words(self, written: list[str]) -> str | None:
        """Whole words, stretched words, parts of words, phrases."""
        lexicon = self._lexicon
        words: list[str] = []
        for word in written:
            if word in _CONTRACTIONS:
                words.extend(_CONTRACTIONS[word])
            else:
                words.append(word.removesuffix("'s").replace("'", "") if "'" in word else word)
        for at, word in enumerate(words):
            category = lexicon.words.get(word) or self._disguised(word)
            if category and not self._is_allowed(words, at):
                return category
            for pattern, category in lexicon.phrases.get(word, ()):
                if _matches(pattern, words, at) and not self._is_allowed(words, at):
                    return category
        return None

    def _disguised(self, word: str) -> str | None:
        """The category of a word that holds a stem, or that is a term with some letters written more than once."""
        lexicon = self._lexicon
        for stem, category in lexicon.stems.items():
            if stem in word and word not in lexicon.allowed_words:
                return category
        if len(word) > 4 and _RUN.search(word):
            short = _RUN.sub(r"\1", word)
            if len(short) > _LONGEST_TERM or word in lexicon.allowed_words:
                return None
            if len(short) >= 4 and short in lexicon.words:
                return lexicon.words[short]
            return self._unstretched(word)
        return None

    def _unstretched(self, word: str) -> str | None:
        """Where a letter stands three times or more, it is read once and twice; pairs stay as they are."""
        runs = list(_STRETCH.finditer(word))
        if not runs or len(runs) > 4:
            return None
        for lengths in itertools.product((1, 2), repeat=len(runs)):
            count = iter(lengths)
            reading = _STRETCH.sub(lambda run, count=count: run[1] * next(count), word)  # type: ignore[misc]
            if reading in self._lexicon.words:
                return self._lexicon.words[reading]
        return None

    def _in_letters(self, words: list[str]) -> str | None:
        """Words spelled letter by letter: "f u c k", "f.u.c.k", "s-h-i-t"."""
        for single, run in itertools.groupby(words, key=lambda word: len(word) == 1 and word.isalpha()):
            if not single:
                continue
            letters = "".join(run)
            if len(letters) < 3 or letters in self._lexicon.allowed_words:
                continue
            if letters in self._lexicon.words:
                return self._lexicon.words[letters]
            for start in range(len(letters) - 3):
                # Somebody who spells "c l a s s i c" means no harm: only terms of four letters count inside a run.
                for end in range(start + 4, min(start + 9, len(letters) + 1)):
                    category = self._lexicon.words.get(letters[start:end])
                    if category:
                        return category
        return None

    def _in_tricks(self, folded: str) -> str | None:
        """Words with digits or signs for letters, masked letters, or points between their parts."""
        for chunk in _ODD_CHUNK.findall(folded):
            bare = chunk.strip(_EDGES)
            if not bare or bare.isalpha() or not _LEET_SIGN.search(bare):
                continue
            if len(bare) <= _LONGEST_TERM and bare not in self._lexicon.allowed_words:
                category = self._undone(bare)
                if category:
                    return category
        return None

    def _undone(self, chunk: str) -> str | None:
        terms = self._lexicon.words
        shorn = chunk.strip("!|@*#%_$+.-")
        for written in {chunk, chunk.rstrip("!|+.-"), chunk.lstrip("@#*_"), shorn}:
            if sum(map(str.isalpha, written)) < 1 or written.isalpha():
                continue
            for reading in (written.translate(_LEET), written.translate(_LEET_L).translate(_LEET)):
                # Three letters with a digit are more often a name of something: a road, a telephone, a sheet of paper.
                plain = len(reading) > 3 or not any(map(str.isdigit, written))
                if plain and reading.isalpha():
                    category = terms.get(reading) or self._disguised(reading)
                    if category and reading not in self._lexicon.allowed_words:
                        return category
        pieces = [piece for piece in re.split(r"[.\-_*+|]+", shorn) if piece]
        if len(pieces) > 1 and (all(len(piece) <= 2 for piece in pieces) or min(map(len, pieces)) == 1):
            joined = "".join(pieces)
            if len(joined) >= 4 and joined in terms:
                return terms[joined]
        return self._unmasked(chunk.lstrip(_MASKS) if chunk[-1:] not in _MASKS else chunk)

    def _unmasked(self, chunk: str) -> str | None:
        """A term with some letters masked, the first of them written: "f**k", "sh*t", "c#nt"."""
        chunk = chunk.rstrip("!.?-")
        written = sum(map(str.isalpha, chunk))
        if not chunk[:1].isalpha() or written < 2 or not any(mask in chunk for mask in _MASKS):
            return None
        for term in self._by_shape.get((chunk[0], len(chunk)), ()):
            if all(a == b or a in _MASKS for a, b in zip(chunk, term, strict=True)):
                return self._lexicon.words[term]
        return None

    def _in_han(self, folded: str) -> str | None:
        if not _HAN.search(folded):
            return None
        text = _NOT_WORD.sub("", folded)
        for allowed in self._lexicon.allowed_han:
            text = text.replace(allowed, " ")
        return next((category for term, category in self._lexicon.han.items() if term in text), None)

    def _is_allowed(self, words: list[str], at: int) -> bool:
        """Whether an allowed phrase stands over the word at ``at``."""
        for phrase in self._lexicon.allowed.get(words[at], ()):
            for offset, part in enumerate(phrase):
                start = at - offset
                if part == words[at] and start >= 0 and tuple(words[start : start + len(phrase)]) == phrase:
                    return True
        return False


def _matches(pattern: list[frozenset[str]], words: list[str], at: int) -> bool:
    """Whether a phrase begins at ``at``; its gaps are at most three fillers long."""
    position = at
    for index, choices in enumerate(pattern):
        if ".." in choices:
            closing = pattern[index + 1]
            for _ in range(_MOST_FILLERS):
                if position < len(words) and words[position] not in closing and words[position] in FILLERS:
                    position += 1
            continue
        if position >= len(words) or words[position] not in choices:
            return False
        position += 1
    return True
