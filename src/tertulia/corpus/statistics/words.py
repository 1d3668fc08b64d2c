"""The words of a text: what stands between white space, and rjieba's segmentation where Chinese is written without any.

Whole Arrow arrays of texts are taken apart at once, on the bytes of their UTF-8; the words of white space are exactly those of
``str.split``. Which texts are Chinese is decided by their script, text by text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tertulia.corpus.statistics.distinct import Hashes, hash_slices, hashes_of
from tertulia.errors import ConfigurationError

__all__ = ["METHODS", "WordMethod", "WordPart", "choose_method", "is_chinese", "split_texts", "words_of"]

Integers = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]
_Flags = npt.NDArray[np.bool_]

# What a user may ask for.
METHODS = ("auto", "spaces", "chinese")

_SPACES = "spaces"
_CHINESE = "chinese"
_BY_SCRIPT = "by script"
# All that str.isspace holds for; a test goes through Unicode.
_WHITE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + "\u2028\u2029\u202f\u205f\u3000"
)
_WHITE_TABLE = bytes(chr(byte) in _WHITE and byte < 0x80 for byte in range(256))
# Han: the unified ideographs with what stands between their blocks, the compatibility ideographs, the supplementary planes.
_HAN_RANGE = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HAN = re.compile(f"[{_HAN_RANGE}]+")
_KANA = re.compile("[\u3040-\u30ff]+")
_HAN_HAN = re.compile(f"(?<=[{_HAN_RANGE}])(?=[{_HAN_RANGE}])")
_HAN_SPACE_HAN = re.compile(f"(?<=[{_HAN_RANGE}]) +(?=[{_HAN_RANGE}])")
# Kana, Thai, Lao, Burmese, Khmer: written without spaces, and without a tokenizer here.
_NO_SPACES = re.compile("[\u3040-\u30ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")
# A text is Chinese if one in so many of its characters that are not white space is Han ...
_HAN_SHARE = 5
# ... and less than one in so many of those is accompanied by a kana, which would make it Japanese.
_KANA_SHARE = 4
# A Chinese word has some 1.6 characters, so in segmented text about half of the places between two ideographs are spaces;
# where Chinese is written as it is written, hardly any.
_SEGMENTED = 0.25
# Of a text in the sample so many characters are looked at.
_SAMPLE_CHARACTERS = 2_000
# Bytes of text that are taken apart by white space at once.
_BLOCK = 1 << 18
# Characters of a text that rjieba gets at once, and words of rjieba that wait to be hashed.
_PIECE = 200_000
_WAITING = 200_000
# jieba first takes a text apart at what is none of these, and segments what lies between.
_BORDER = re.compile(r"[^\u4e00-\u9fd5a-zA-Z0-9+#&._%\-]")


@dataclass(frozen=True, slots=True)
class WordMethod:
    """How texts are taken apart.

    ``name`` is ``"spaces"`` (white space), ``"chinese"`` (rjieba) or ``"by script"`` (rjieba for Chinese texts), ``wanted`` what
    was asked for, ``remark`` what must be known of texts for which this does not do.
    """

    name: str
    wanted: str
    remark: str | None = None

    def chinese(self, text: str) -> bool:
        """Whether rjieba takes this text apart."""
        return self.name == _CHINESE or (self.name == _BY_SCRIPT and is_chinese(text))


@dataclass(frozen=True, slots=True)
class WordPart:
    """The words of some texts of an array: ``rows`` their numbers, ascending, ``counts`` the words of each.

    ``hashes`` holds 64 bits for each word, in order; equal words have equal ones. ``by_rjieba`` says who took them apart.
    """

    rows: Integers
    counts: Integers
    hashes: Hashes
    by_rjieba: bool = False


def is_chinese(text: str) -> bool:
    """Whether a text is Chinese by its script: a fifth of its characters without white space are Han, hardly any are kana."""
    han = _number(_HAN, text)
    if not han:
        return False
    return han * _HAN_SHARE >= _black(text) and _number(_KANA, text) * _KANA_SHARE < han


def _number(characters: re.Pattern[str], text: str) -> int:
    """How many characters of a text match a pattern of runs."""
    return len(text) - len(characters.sub("", text))


def _black(text: str) -> int:
    """How many characters of a text are not white space."""
    return len(text) - sum(map(text.count, _WHITE))


def words_of(text: str, method: WordMethod) -> list[str]:
    """The words of one text, in order. Punctuation is a word where rjieba makes it one, and stays at its word elsewhere."""
    if not method.chinese(text):
        return text.split()
    import rjieba  # its dictionary loads with the first text; most corpora never need it

    return [word for piece in _pieces(text) for word in rjieba.cut(piece) if not word.isspace()]


def choose_method(wanted: str, sample: Iterable[str]) -> WordMethod:
    """The method for a corpus: the one that was named, or with ``"auto"`` what fits a sample of its texts.

    Chinese that has been segmented already (white space between its words) is counted by white space like English, all other
    Chinese text by rjieba.

    Raises
    ------
    ConfigurationError
        There is no such method.
    """
    if wanted == "spaces":
        return WordMethod(_SPACES, wanted)
    if wanted == "chinese":
        return WordMethod(_CHINESE, wanted)
    if wanted != "auto":
        raise ConfigurationError(f"there is no way {wanted!r} to count words; expected one of {', '.join(METHODS)}")
    together = apart = characters = without = 0
    for text in (whole[:_SAMPLE_CHARACTERS] for whole in sample):
        characters += _black(text)
        if text.isascii():
            continue
        together += len(_HAN_HAN.findall(text))
        apart += len(_HAN_SPACE_HAN.findall(text))
        without += _number(_NO_SPACES, text)
    segmented = apart > 0 and apart >= _SEGMENTED * (apart + together)
    remark = None
    if segmented:
        remark = "the Chinese text is segmented already: its words stand between spaces"
    if without * _HAN_SHARE >= max(characters, 1):
        remark = (
            "much of the text is in a script that is written without spaces (Japanese, Thai, Lao, Burmese, Khmer), for which "
            "there is no tokenizer: its words are the runs between spaces"
        )
    return WordMethod(_SPACES if segmented else _BY_SCRIPT, wanted, remark)


def split_texts(texts: pa.Array, method: WordMethod) -> list[WordPart]:
    """The words of an array of texts (Arrow strings without nulls), in up to two parts that have each text once."""
    everything = np.arange(len(texts), dtype=np.int64)
    if method.name == _SPACES:
        return [WordPart(everything, *_by_white_space(texts))]
    if method.name == _CHINESE:
        return [_by_rjieba(texts, everything)]
    chinese = _chinese_rows(texts)
    if not chinese.any():
        return [WordPart(everything, *_by_white_space(texts))]
    others = np.flatnonzero(~chinese)
    part = WordPart(others, *_by_white_space(texts.take(pa.array(others))))
    rows = np.flatnonzero(chinese)
    return [part, _by_rjieba(texts.take(pa.array(rows)), rows)]


def _by_rjieba(texts: pa.Array, rows: Integers) -> WordPart:
    import rjieba

    counts = np.zeros(len(texts), dtype=np.int64)
    hashes: list[Hashes] = [np.zeros(0, dtype=np.uint64)]
    waiting: list[str] = []
    for row in range(len(texts)):
        for piece in _pieces(texts[row].as_py()):
            words = [word for word in rjieba.cut(piece) if not word.isspace()]
            counts[row] += len(words)
            waiting += words
            if len(waiting) >= _WAITING:
                hashes.append(hashes_of(pa.array(waiting, type=pa.string())))
                waiting = []
    hashes.append(hashes_of(pa.array(waiting, type=pa.string())))
    return WordPart(rows, counts, np.concatenate(hashes), True)


def _pieces(text: str) -> Iterator[str]:
    """A text in pieces of bounded length, cut only where no word of rjieba can go on."""
    start = 0
    while len(text) - start > _PIECE:
        border = _BORDER.search(text, start + _PIECE)
        if border is None:
            break
        yield text[start : border.end()]
        start = border.end()
    yield text[start:]


def _buffers(texts: pa.Array) -> tuple[Integers, bytes]:
    """The offsets of the texts, from 0, and their bytes."""
    if not len(texts):
        return np.zeros(1, dtype=np.int64), b""
    _, offsets, data = texts.buffers()
    edges = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    return edges - edges[0], b"" if data is None else bytes(memoryview(data)[int(edges[0]) : int(edges[-1])])


def _by_white_space(texts: pa.Array) -> tuple[Integers, Hashes]:
    edges, raw = _buffers(texts)
    cuts = _with_cuts(edges, raw)
    counts: list[Integers] = [np.zeros(0, dtype=np.int64)]
    hashes: list[Hashes] = [np.zeros(0, dtype=np.uint64)]
    first = 0
    while first < len(cuts) - 1:
        # So many texts as fit into the processor's cache together, or one.
        last = max(first + 1, int(np.searchsorted(cuts, cuts[first] + _BLOCK, side="right")) - 1)
        found = _block_by_white_space(raw[int(cuts[first]) : int(cuts[last])], cuts[first : last + 1] - cuts[first])
        counts.append(found[0])
        hashes.append(found[1])
        first = last
    number = np.concatenate(counts)
    if cuts is not edges:
        words_until = np.append(0, np.cumsum(number))[np.searchsorted(cuts, edges)]
        number = np.diff(words_until)
    return number, np.concatenate(hashes)


def _with_cuts(edges: Integers, raw: bytes) -> Integers:
    """The edges of the texts, and of a text that is longer than a block also the ends of pieces, each after a space."""
    cuts: list[int] = []
    for row in np.flatnonzero(np.diff(edges) > 2 * _BLOCK).tolist():
        at = raw.find(b" ", int(edges[row]) + _BLOCK, int(edges[row + 1]) - 1)
        while at >= 0:
            cuts.append(at + 1)
            at = raw.find(b" ", at + _BLOCK, int(edges[row + 1]) - 1)
    return np.sort(np.append(edges, np.array(cuts, dtype=np.int64))) if cuts else edges


def _block_by_white_space(raw: bytes, edges: Integers) -> tuple[Integers, Hashes]:
    """The number of words between each two edges, and the hashes of the words."""
    if not raw:
        return np.zeros(len(edges) - 1, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    white = np.frombuffer(bytearray(raw.translate(_WHITE_TABLE)), dtype=np.bool_)
    if not raw.isascii():
        _mark_wide_spaces(np.frombuffer(raw, dtype=np.uint8), white)
    # A word begins after white space and ends before it; and at the border of two texts without any.
    black = ~white
    begins, ends = black.copy(), black.copy()
    begins[1:] &= white[:-1]
    ends[:-1] &= white[1:]
    inside = edges[(edges > 0) & (edges < len(raw))]
    begins[inside] = black[inside]
    ends[inside - 1] = black[inside - 1]
    starts = np.flatnonzero(begins)
    counts = np.diff(np.searchsorted(starts, edges)).astype(np.int64)
    return counts, hash_slices(raw, starts, np.flatnonzero(ends) + 1 - starts)


def _mark_wide_spaces(data: _Bytes, white: _Flags) -> None:
    """Mark the bytes of the white space beyond ASCII."""
    at, lead, second, third = _wide(data)
    two = (lead == 0xC2) & ((second == 0x85) | (second == 0xA0))
    three = (lead == 0xE1) & (second == 0x9A) & (third == 0x80)
    three |= (lead == 0xE2) & (second == 0x80) & ((third <= 0x8A) | (third == 0xA8) | (third == 0xA9) | (third == 0xAF))
    three |= ((lead == 0xE2) & (second == 0x81) & (third == 0x9F)) | (
        (lead == 0xE3) & (second == 0x80) & (third == 0x80)
    )
    for step, marks in ((0, two | three), (1, two | three), (2, three)):
        white[at[marks] + step] = True


def _wide(data: _Bytes) -> tuple[npt.NDArray[np.intp], _Bytes, _Bytes, _Bytes]:
    """Where characters beyond ASCII begin, and three bytes from there (of a text's last, what is not there is 0)."""
    at = np.flatnonzero(data >= 0xC2)
    padded = np.append(data, np.zeros(2, dtype=np.uint8))
    return at, data[at], padded[at + 1], padded[at + 2]


def _chinese_rows(texts: pa.Array) -> _Flags:
    """For each text what :func:`is_chinese` says of it."""
    edges, raw = _buffers(texts)
    chinese = np.zeros(len(texts), dtype=np.bool_)
    if raw.isascii():
        return chinese
    at, lead, second, _ = _wide(np.frombuffer(raw, dtype=np.uint8))
    han = ((lead == 0xE3) & (second >= 0x90)) | ((lead >= 0xE4) & (lead <= 0xE9))
    han |= ((lead == 0xEF) & (second >= 0xA4) & (second <= 0xAB)) | ((lead == 0xF0) & (second >= 0xA0))
    # Only the texts with an ideograph are looked at more closely, as strings.
    with_han = np.flatnonzero(np.diff(np.searchsorted(at[han], edges)))
    for row, text in zip(with_han, texts.take(pa.array(with_han)).to_pylist(), strict=True):
        chinese[row] = is_chinese(text)
    return chinese
