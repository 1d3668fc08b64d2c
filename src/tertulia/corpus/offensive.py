"""The offensive-language filter, used on what the user says and on every reply before it is said.

It works on words, not on letters: a lexicon of words and phrases (``lexicons/``) is looked up after folding case, accents, widths,
look-alike letters, digits in place of letters, letters repeated, spaced out or starred. Names and sayings that only look offensive
stand in the same lexicon as allowed. Its time is linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import resources
from itertools import chain

from tertulia.errors import ConfigurationError

__all__ = ["Offence", "OffensiveFilter"]

_ALLOW = "allow"
_GAP = ".."
_LONGEST_GAP = 3
# What ".." in a phrase may stand for. Any word would make "have you read The Idiot" an insult.
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        "a absolute absolutely actually all always an and are as be big bloody come complete completely damn definitely down "
        "dumb extremely fat find fucking goddamn going hunt incredibly just kind literally little lying most nothing but of one "
        "personally pretty quite real really right seriously simply so still stupid such that the then to total totally truly "
        "ugly useless utter utterly very worthless",
    )
)
# What is too common to tell that a phrase may be there.
_COMMON = _FILLERS | frozenset(
    re.findall(
        r"\w+",
        "am any at be beat been before better can come coming could did do does down get go going got had hand has have "
        "he head her here him his hope house how i if in is it job know let lets life likes love loves make man me my no "
        "not off on one or our out person phone see she should show some take them there these they thing this those "
        "tonight up us want wants was we were what when where which white who why will with women would you your",
    )
)
_COMMON_CHARACTERS = "你他她我是个这的了去来在有人一不和跟给小大上下要到口打发死妈片东西"
_CONTRACTIONS = {
    "youre": ("you", "are"),
    "ur": ("you", "are"),
    "u": ("you",),
    "r": ("are",),
    "im": ("i", "am"),
    "its": ("it", "is"),
    "thats": ("that", "is"),
    "ill": ("i", "will"),
    "youll": ("you", "will"),
    "ya": ("you",),
    "gonna": ("going", "to"),
    "wanna": ("want", "to"),
    "imma": ("i", "am", "going", "to"),
    "urself": ("yourself",),
}
# Written out, for taking out the apostrophe alone would make "who're" another word.
_ENDINGS = {"re": "are", "ll": "will", "m": "am", "ve": "have", "d": "would"}
_LEET = str.maketrans("4@310$57!+", "aaeiosstit")
# Letters of other alphabets that pass for Latin ones.
_LOOKALIKES = str.maketrans("аеорсухіјѕһԁӏαεορυκν", "aeopcyxijshdlaeopukv")
# A word may hold stars and letter-like signs inside, begin with @ or $, and end in two stars or more or in $.
_WORD = re.compile(r"[@$]?[^\W_]+(?:['’@$!*+]{1,6}[^\W_]+)*(?:\*{2,8}|\${1,2})?")
# A word in pieces: "fu.ck", "f-uck".
_PIECES = re.compile(r"(?<![a-z'])[a-z]{1,8}(?:[.\-_|][a-z]{1,8}){1,8}(?![a-z'])")
# What may stand around a token and is part of no word.
_PUNCTUATION = '.,!?;:"()'
_PIECE_SIGN = re.compile(r"[.\-_|]")
# A first name, which only the capital of the surname tells from the word.
_NAME = re.compile(r"\bDick (?:[A-Z]\. )?[A-Z][a-z]")
_CJK_NOISE = re.compile(r"[\W_]+")
_REPEATED = re.compile(r"(.)\1+")
_WORDS_OF_A_LETTER = "ai"
_LONGEST_SPACED = 14
_REMEMBERED = 100_000
_LONGEST_REMEMBERED = 32


@dataclass(slots=True)
class _Lexicon:
    """The terms of one language, by the ways in which they are found."""

    words: dict[str, str] = field(default_factory=dict)
    stems: list[tuple[str, str]] = field(default_factory=list)
    # A phrase, its category, and the part of it that is met least often.
    phrases: dict[str, list[tuple[list[frozenset[str] | None], str, frozenset[str]]]] = field(default_factory=dict)
    allowed: dict[str, list[list[frozenset[str] | None]]] = field(default_factory=dict)
    squeezed: dict[str, list[str]] = field(default_factory=dict)
    by_length: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    unspaced: dict[str, str] = field(default_factory=dict)
    unspaced_allowed: list[str] = field(default_factory=list)
    # The characters without which none of them is found, the words without which no phrase is, the letters of all words.
    telling_characters: frozenset[str] = frozenset()
    telling: frozenset[str] = frozenset()
    letters: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Offence:
    """Something offensive in a text: from code point ``start`` to before ``end``, and its category."""

    start: int
    end: int
    category: str


class OffensiveFilter:
    """Says whether a text is offensive, and in which way.

    Parameters
    ----------
    language:
        ``en`` or ``zh``; with ``zh`` the English words are objected to as well.
    extra:
        Further words or phrases to object to.
    """

    def __init__(self, language: str = "en", extra: Iterable[str] = ()) -> None:
        self._lexicon = _Lexicon()
        for number, line in _lines("en"):
            _add(self._lexicon, line, f"en.txt:{number}")
        for term in extra:
            _add(self._lexicon, f"{' '.join(_plain(term))} | profanity", f"the term {term!r}")
        if language == "zh":
            for _, line in _lines("zh"):
                term, category = (part.strip() for part in line.split("|")[:2])
                if category == _ALLOW:
                    self._lexicon.unspaced_allowed.append(term)
                else:
                    self._lexicon.unspaced[term] = category
        self._unspaced = _alternation(self._lexicon.unspaced)
        self._unspaced_allowed = _alternation(self._lexicon.unspaced_allowed)
        self._lexicon.telling_characters = frozenset(
            min(term, key=lambda character: character in _COMMON_CHARACTERS) for term in self._lexicon.unspaced
        )
        self._lexicon.telling = frozenset(
            word for phrases in self._lexicon.phrases.values() for _, _, telling in phrases for word in telling
        )
        spelled = any(set(_WORDS_OF_A_LETTER).issuperset(word) for word in self._lexicon.words)
        self._lexicon.letters = frozenset("".join(self._lexicon.words)).difference(
            "" if spelled else _WORDS_OF_A_LETTER
        )
        self._verdicts: dict[str, str | None] = {}
        # Tokens, as white space parts them, that no offence needs; and those that one may.
        self._harmless: set[str] = set()
        self._doubtful: set[str] = set()

    def objection(self, text: str) -> str | None:
        """What it objects to (profanity, slur, sexual, violent threat, insult), or ``None``. Never raises."""
        unknown = set(text.split()).difference(self._harmless)
        # Most texts hold nothing but tokens that are harmless in any company.
        if not unknown or all(map(self._is_harmless, unknown)):
            found = None if text.isascii() else next(self._in_unspaced(_fold(text)), None)
        else:
            found = next(self._offences(self._folded(text)), None)
        return None if found is None else found.category

    def find(self, text: str) -> list[Offence]:
        """Everything it objects to, with places in ``text``: in order, none overlapping another (the longer stands)."""
        if self.objection(text) is None:
            return []
        folded = self._folded(text)
        places = _places(text, folded)
        found = [
            Offence(places[offence.start], places[offence.end - 1] + 1, offence.category)
            if places
            else Offence(0, len(text), offence.category)
            for offence in self._offences(folded)
        ]
        kept: list[Offence] = []
        for offence in sorted(found, key=lambda offence: (offence.start, -offence.end)):
            if not kept or offence.start >= kept[-1].end:
                kept.append(offence)
        return kept

    def _folded(self, text: str) -> str:
        return _fold(_NAME.sub(lambda match: " " * len(match[0]), text) if "Dick" in text else text)

    def _offences(self, folded: str) -> Iterator[Offence]:
        """Offences with places in the folded text, some of them overlapping; which comes first decides the objection."""
        written = [(match[0], match.start(), match.end()) for match in _WORD.finditer(folded)]
        words = written
        if "'" in folded or "’" in folded or any(token[0] in _CONTRACTIONS for token in written):
            words = [(word, start, end) for token, start, end in written for word in _expand(token)]
        plain = [word for word, _, _ in words]
        for first, last, category in chain(self._single(plain), self._phrase(plain)):
            yield Offence(words[first][1], words[last][2], category)
        for first, last, category in self._spaced([word for word, _, _ in written]):
            yield Offence(written[first][1], written[last][2], category)
        yield from self._in_pieces(folded)
        yield from self._in_unspaced(folded)

    def _is_harmless(self, token: str) -> bool:
        """Whether no offence of written words can begin in, end in or need this token (which holds no white space).

        A word by itself is looked up, a phrase needs its telling word, letters in a row need one that is no word ("a" and
        "i" are), and signs between pieces stand within a token.
        """
        if token in self._doubtful:
            return False
        bare = token.strip(_PUNCTUATION)
        if bare.isascii() and bare.isalpha() and len(bare) > 1 and not bare.startswith("Dick"):
            written, pieces = [bare.lower()], False
        else:
            folded = _fold(token)
            written, pieces = _WORD.findall(folded), next(self._in_pieces(folded), None) is not None
        words = {*written, *(word for part in written for word in _expand(part))}
        harmless = not (
            pieces
            or "Dick" in token
            or any(len(word) == 1 and word in self._lexicon.letters for word in written)
            or not self._lexicon.telling.isdisjoint(words)
            or any(self._verdict(word) is not None for word in words)
        )
        # Tokens are remembered, for people use few.
        if len(token) <= _LONGEST_REMEMBERED and len(self._harmless) + len(self._doubtful) < _REMEMBERED:
            (self._harmless if harmless else self._doubtful).add(token)
        return harmless

    def _single(self, words: list[str]) -> Iterator[tuple[int, int, str]]:
        verdicts = self._verdicts
        exempt: set[int] | None = None
        for index, word in enumerate(words):
            verdict = verdicts[word] if word in verdicts else self._verdict(word)
            if verdict is not None:
                exempt = self._exempt(words) if exempt is None else exempt
                if index not in exempt:
                    yield index, index, verdict

    def _verdict(self, word: str) -> str | None:
        """The category of one word by itself; words are remembered, for people use few."""
        verdict = next((category for form in _readings(word) if (category := self._look_up(form))), None)
        if len(self._verdicts) < _REMEMBERED and len(word) <= _LONGEST_REMEMBERED:
            self._verdicts[word] = verdict
        return verdict

    def _look_up(self, word: str) -> str | None:
        lexicon = self._lexicon
        if word in lexicon.words:
            return lexicon.words[word]
        if "*" in word:
            return self._starred(word)
        for term in lexicon.squeezed.get(_squeeze(word), ()):
            if _is_stretched(word, term):
                return lexicon.words[term]
        return next((category for stem, category in lexicon.stems if stem in word), None)

    def _starred(self, word: str) -> str | None:
        """``f**k``: a term of that length with those letters in those places."""
        if sum(c != "*" for c in word) < 1 or word.count("*") > 6 or word[0] == "*":
            return None
        pattern = re.compile(re.escape(word).replace(r"\*", "[a-z]"))
        terms = self._lexicon.by_length.get((word[0], len(word)), ())
        return next((self._lexicon.words[term] for term in terms if pattern.fullmatch(term)), None)

    def _phrase(self, words: list[str]) -> Iterator[tuple[int, int, str]]:
        phrases = self._lexicon.phrases
        exempt: set[int] | None = None
        present = set(words)
        # Most texts hold the beginning of some phrase ("i am", "you"), few its telling word.
        begun = {
            first: [phrase for phrase in phrases[first] if not phrase[2].isdisjoint(present)]
            for first in phrases.keys() & present
        }
        for index, word in enumerate(words):
            for pattern, category, _ in begun.get(word, ()):
                end = _match(pattern, words, index)
                if end is not None:
                    exempt = self._exempt(words) if exempt is None else exempt
                    if exempt.isdisjoint(range(index, end)):
                        yield index, end - 1, category

    def _exempt(self, words: list[str]) -> set[int]:
        """The places of words that stand in an allowed phrase."""
        places: set[int] = set()
        for index, word in enumerate(words):
            for pattern in self._lexicon.allowed.get(word, ()):
                end = _match(pattern, words, index)
                if end is not None:
                    places.update(range(index, end))
        return places

    def _spaced(self, words: list[str]) -> Iterator[tuple[int, int, str]]:
        """``f u c k`` and ``f.u.c.k``: single letters in a row that spell a term of four letters or more."""
        if list(map(len, words)).count(1) < 4:
            return
        run: list[str] = []
        for index, word in enumerate([*words, ""]):
            if len(word) == 1:
                run.append(word)
                continue
            letters, first = "".join(run), index - len(run)
            for start in range(len(letters) - 3):
                for end in range(start + 4, min(len(letters), start + _LONGEST_SPACED) + 1):
                    category = self._lexicon.words.get(letters[start:end])
                    if category is not None:
                        yield first + start, first + end - 1, category
            run = []

    def _in_pieces(self, folded: str) -> Iterator[Offence]:
        """``fu.ck`` and ``f-uck``: pieces of one or two letters, or one letter and the rest, that together are a term."""
        if _PIECE_SIGN.search(folded) is None:
            return
        for match in _PIECES.finditer(folded):
            pieces = _PIECE_SIGN.split(match[0])
            if min(map(len, pieces)) == 1 or max(map(len, pieces)) <= 2:
                joined = "".join(pieces)
                if len(joined) >= 4 and joined in self._lexicon.words:
                    yield Offence(match.start(), match.end(), self._lexicon.words[joined])

    def _in_unspaced(self, folded: str) -> Iterator[Offence]:
        """Chinese: a term anywhere, whatever stands between its characters."""
        if self._unspaced is None or self._lexicon.telling_characters.isdisjoint(folded):
            return
        text = _CJK_NOISE.sub("", folded)
        if self._unspaced_allowed is not None:
            text = self._unspaced_allowed.sub(lambda match: " " * len(match[0]), text)
        places: list[int] | None = None
        for match in self._unspaced.finditer(text):
            if places is None:
                noise = {place for part in _CJK_NOISE.finditer(folded) for place in range(*part.span())}
                places = [place for place in range(len(folded)) if place not in noise]
            yield Offence(places[match.start()], places[match.end() - 1] + 1, self._lexicon.unspaced[match[0]])


def _lines(language: str) -> Iterator[tuple[int, str]]:
    text = (resources.files("tertulia.corpus") / "lexicons" / f"{language}.txt").read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, line


def _add(lexicon: _Lexicon, line: str, where: str) -> None:
    """Take one line ``term | category | forms`` into the lexicon."""
    parts = [part.strip() for part in line.split("|")]
    if len(parts) not in (2, 3) or not parts[0] or not parts[1]:
        raise ConfigurationError(f"holds {line!r}; expected 'term | category | forms'", where=where)
    term, category, forms = parts[0], parts[1], parts[2].split() if len(parts) == 3 else []
    if " " in term or "/" in term:
        pattern = [None if word == _GAP else frozenset(word.split("/")) for word in term.split()]
        telling = max(filter(None, pattern), key=lambda part: (part.isdisjoint(_COMMON), min(map(len, part))))
        for first in pattern[0] or ():
            if category == _ALLOW:
                lexicon.allowed.setdefault(first, []).append(pattern)
            else:
                lexicon.phrases.setdefault(first, []).append((pattern, category, telling))
        return
    if category == _ALLOW:
        lexicon.allowed.setdefault(term, []).append([frozenset({term})])
        return
    if "stem" in forms:
        lexicon.stems.append((term, category))
    for form in {term, *_inflected(term, forms)}:
        lexicon.words[form] = category
        lexicon.squeezed.setdefault(_squeeze(form), []).append(form)
        lexicon.by_length.setdefault((form[0], len(form)), []).append(form)


def _inflected(term: str, forms: list[str]) -> list[str]:
    endings: list[str] = []
    if "noun" in forms or "verb" in forms:
        endings += ["s", "es"] if term[-1] in "sxzh" else ["s"]
    if "verb" in forms:
        endings += ["ing", "in", "ed", "er", "ers"]
    # "shit" also makes "shitting": a short term doubles its last consonant.
    doubled = term + term[-1] if len(term) > 2 and term[-1] not in "aeiouyw" and term[-2] in "aeiou" else term
    dropped = term[:-1] if term.endswith("e") else term
    vowel_endings = [ending for ending in endings if ending[0] in "ie" and ending != "es"]
    return [
        *(term + ending for ending in endings),
        *(doubled + ending for ending in vowel_endings),
        *(dropped + ending for ending in vowel_endings),
    ]


def _fold(text: str) -> str:
    """Case, widths, accents and look-alike letters away."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(c for c in decomposed if unicodedata.category(c) not in {"Mn", "Cf", "Cs"})
    return kept.translate(_LOOKALIKES)


def _places(text: str, folded: str) -> list[int]:
    """For each character of the folded text the place in ``text`` of the one it comes from; empty where that is unclear."""
    places = [place for place, character in enumerate(text) for _ in _fold(character)]
    return places if len(places) == len(folded) else []


def _plain(text: str) -> list[str]:
    return [word.replace("'", "").replace("’", "") for word in _WORD.findall(_fold(text))]


def _expand(token: str) -> tuple[str, ...]:
    if token.isalpha():
        return _CONTRACTIONS.get(token) or (token,)
    parts = token.replace("’", "'").split("'")
    word = "".join(parts)
    if word in _CONTRACTIONS:
        return _CONTRACTIONS[word]
    if len(parts) == 2 and parts[1] in _ENDINGS:
        return parts[0], _ENDINGS[parts[1]]
    return (word,)


def _readings(word: str) -> Iterator[str]:
    """A word as it stands, and with digits and signs read as the letters they look like."""
    yield word
    if not word.isalpha() and any(character.isalpha() for character in word):
        read = word.translate(_LEET)
        if read != word:
            yield read
            yield word.replace("1", "l").translate(_LEET)


def _squeeze(word: str) -> str:
    return _REPEATED.sub(r"\1", word)


def _is_stretched(word: str, term: str) -> bool:
    """Whether ``word`` is ``term`` with letters repeated: at least as long in every run, and clearly so for short terms."""
    runs = [(match[0][0], len(match[0])) for match in re.finditer(r"(.)\1*", word)]
    wanted = [(match[0][0], len(match[0])) for match in re.finditer(r"(.)\1*", term)]
    if len(runs) != len(wanted) or any(run[1] < want[1] for run, want in zip(runs, wanted, strict=True)):
        return False
    # Two of a consonant where one is right is how "assess" differs from a plural: it takes three, or a vowel.
    longer = [run for run, want in zip(runs, wanted, strict=True) if run[1] > want[1]]
    return any(count >= 3 or (letter in "aeiou" and len(term) >= 4) for letter, count in longer)


def _match(pattern: list[frozenset[str] | None], words: list[str], start: int) -> int | None:
    """Where a phrase that begins at ``start`` ends, or ``None``; a gap takes up to three words that only add weight."""
    ends = {start}
    gap = False
    for part in pattern:
        if part is None:
            gap = True
            continue
        following: set[int] = set()
        for end in ends:
            for place in range(end, min(len(words), end + 1 + (_LONGEST_GAP if gap else 0))):
                if words[place] in part:
                    following.add(place + 1)
                if words[place] not in _FILLERS:
                    break
        if not following:
            return None
        ends, gap = following, False
    return min(ends)


def _alternation(terms: Iterable[str]) -> re.Pattern[str] | None:
    ordered = sorted(terms, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered))) if ordered else None
