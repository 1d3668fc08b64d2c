"""The filter ``duplicates``: dialogues that repeat another one, word for word or nearly so.

Nearly: the sets of shingles (runs of words, of characters in Chinese) of two dialogues have a Jaccard similarity of the threshold
or more. Pairs that may be so are found by MinHash signatures in bands (Broder 1997; Leskovec, Rajaraman and Ullman, "Mining of
Massive Datasets", chapter 3) and each is checked by its true similarity.

A first pass keeps on disk what a dialogue needs for that: 16 bytes of digest, 8 bytes a band, 4 bytes a shingle. Memory holds
some 40 bytes a dialogue, and more only for dialogues that share a band with another.
"""

from __future__ import annotations

import importlib
import re
import shutil
import tempfile
import zlib
from array import array
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
import numpy.typing as npt

from tertulia.corpus.cleaning.filter import FilterBase, Hit, Setting
from tertulia.errors import MissingExtraError

__all__ = ["Duplicates", "jaccard", "normalised_words", "shingles"]

_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Words, and the characters of scripts that are written without spaces.
_WORD = re.compile(rf"[{_HAN}\u3040-\u30ff\u0e00-\u0eff]|(?:(?![{_HAN}\u3040-\u30ff\u0e00-\u0eff])[^\W_])+")
_APOSTROPHES = re.compile("['’]")
# ASCII in lower case, with a space for whatever is no letter or digit.
_PLAIN = bytes(ord(chr(byte).lower()) if byte < 128 and chr(byte).isalnum() else 32 for byte in range(256))
_PERMUTATIONS = 128
_SEED = 1
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_REMEMBERED = 500_000
_Integers = npt.NDArray[np.uint32]


def normalised_words(texts: Sequence[str]) -> list[str]:
    """The words of all texts in order, without case and punctuation; a Chinese character is a word."""
    text = "\n".join(texts)
    if text.isascii():
        # The same, several times as fast.
        return text.encode("ascii").translate(_PLAIN, b"'").decode("ascii").split()
    return _WORD.findall(_APOSTROPHES.sub("", text.casefold()))


class _Digests(dict[str, int]):
    """The 32-bit digest of each word; words are remembered, for people use few."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _REMEMBERED:
            self.clear()
        digest = self[word] = zlib.crc32(word.encode(errors="surrogatepass"))
        return digest


_DIGESTS = _Digests()


def shingles(words: Sequence[str], length: int) -> _Integers:
    """The set of runs of ``length`` words as sorted 32-bit digests; fewer words than that are one run, none are an empty set."""
    if not words:
        return np.empty(0, dtype=np.uint32)
    digests = np.fromiter(map(_DIGESTS.__getitem__, words), dtype=np.uint64, count=len(words))
    count = max(1, len(words) - length + 1)
    # Horner's rule modulo 2 ** 64 over the words of each run; then the bits are mixed and the upper half is taken.
    runs = np.zeros(count, dtype=np.uint64)
    for place in range(min(length, len(words))):
        runs = runs * _FACTOR + digests[place : place + count] + np.uint64(1)
    runs ^= runs >> np.uint64(29)
    runs *= _FACTOR
    return np.unique((runs >> np.uint64(32)).astype(np.uint32))


def jaccard(one: _Integers, other: _Integers) -> float:
    """The share of what two sets (sorted, each without repetition, not both empty) have in common of all they have."""
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / (len(one) + len(other) - common)


class Duplicates(FilterBase):
    """Finds every dialogue that repeats one before it in order of id, unless that one is itself left out.

    The value is the similarity, and ``attributes.of`` the id of the dialogue that is repeated.
    """

    name: ClassVar[str] = "duplicates"
    summary: ClassVar[str] = "dialogues (prompts) that repeat another, word for word or nearly"
    looks_ahead: ClassVar[bool] = True
    settings: ClassVar[Mapping[str, Setting]] = {
        "threshold": Setting(
            0.8, "the Jaccard similarity from which on two are near duplicates; 1: exact ones only", 0.1, 1.0
        ),
        "shingle": Setting(0, "words (Chinese: characters) in a shingle; 0: 3 in English, 4 in Chinese", 0, 20),
    }

    def __init__(self, language: str, threshold: float = 0.8, shingle: int = 0) -> None:
        self._threshold = threshold
        self._length = shingle or (4 if language == "zh" else 3)
        self._near = threshold < 1
        self._minhash = _MinHash(threshold) if self._near else None
        self._folder: Path | None = None
        self._files: dict[str, BinaryIO] = {}
        self._ends = array("Q")
        self._groups: dict[int, list[int]] | None = None
        # Of each group the records that are kept: number and id.
        self._members: dict[int, list[tuple[int, str]]] = {}
        self._exact: set[int] = set()

    def open(self, folder: Path | None) -> None:
        """Make room on disk for the first pass."""
        self._folder = Path(tempfile.mkdtemp(prefix=".duplicates-", dir=folder))
        self._files = {name: (self._folder / name).open("w+b") for name in ("digests", "bands", "shingles")}

    def close(self) -> None:
        """Remove what the first pass has left on disk."""
        for file in self._files.values():
            file.close()
        self._files = {}
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def look(self, texts: Sequence[str]) -> None:
        """Keep what this dialogue can be compared by."""
        words = normalised_words(texts)
        self._files["digests"].write(_digest(words))
        if self._minhash is None:
            return
        own = shingles(words, self._length)
        bands = self._minhash.bands(own) if words else np.zeros(self._minhash.count, dtype=np.uint64)
        self._files["bands"].write(bands.tobytes())
        self._files["shingles"].write(own.tobytes())
        self._ends.append((self._ends[-1] if self._ends else 0) + len(own))

    def in_prompt(self, number: int, identifier: str, texts: Sequence[str]) -> Sequence[Hit]:
        """As in a dialogue."""
        return self.in_dialogue(number, identifier, texts)

    def in_dialogue(self, number: int, identifier: str, texts: Sequence[str]) -> Sequence[Hit]:
        """The first dialogue that this one repeats, if it repeats any."""
        if self._groups is None:
            self._groups = self._find_groups()
        groups = self._groups.get(number)
        if not groups:
            return ()
        own: _Integers | None = None
        seen: set[int] = set()
        best: tuple[float, str, str] | None = None
        for group in groups:
            for other, other_id in self._members.get(group, ()):
                if group in self._exact:
                    return (Hit("exact duplicate", value=1.0, attributes={"of": other_id}),)
                if other in seen:
                    continue
                seen.add(other)
                own = shingles(normalised_words(texts), self._length) if own is None else own
                similarity = jaccard(own, self._shingles_of(other))
                if similarity >= self._threshold and (best is None or similarity > best[0]):
                    best = (similarity, other_id, "near duplicate")
        if best is not None:
            return (Hit(best[2], value=round(best[0], 4), attributes={"of": best[1]}),)
        for group in groups:
            self._members.setdefault(group, []).append((number, identifier))
        return ()

    def _shingles_of(self, number: int) -> _Integers:
        first = self._ends[number - 1] if number else 0
        file = self._files["shingles"]
        file.seek(4 * first)
        return np.frombuffer(file.read(4 * (self._ends[number] - first)), dtype=np.uint32)

    def _find_groups(self) -> dict[int, list[int]]:
        """Of each record that shares its words or a band with another the groups it is in, exact ones first."""
        groups: dict[int, list[int]] = {}
        first_of: dict[int, int] = {}
        count = 0
        for members in _repeated(self._column("digests", 16)):
            self._exact.add(count)
            groups[members[0]] = [count]
            first_of.update(dict.fromkeys(members[1:], members[0]))
            count += 1
        if self._minhash is not None:
            for band in range(self._minhash.count):
                for members in _repeated(self._column("bands", 8, band, self._minhash.count)):
                    # Equal words have equal bands: the first speaks for all.
                    different = [number for number in members if number not in first_of]
                    if len(different) > 1:
                        for number in different:
                            groups.setdefault(number, []).append(count)
                        count += 1
        groups.update({number: groups[first] for number, first in first_of.items()})
        return groups

    def _column(self, name: str, width: int, column: int = 0, columns: int = 1) -> npt.NDArray[Any]:
        """One column of a file of rows of ``columns`` values, each of ``width`` bytes."""
        file = self._files[name]
        file.flush()
        kind = np.dtype("V16") if width == 16 else np.dtype(np.uint64)
        if not Path(file.name).stat().st_size:
            return np.empty(0, dtype=kind)
        table = np.memmap(file.name, dtype=kind, mode="r").reshape(-1, columns)
        return np.array(table[:, column])


class _MinHash:
    """Signatures in bands, with the numbers of bands and rows that suit a threshold."""

    def __init__(self, threshold: float) -> None:
        try:
            datasketch: Any = importlib.import_module("datasketch")
        except ImportError:
            raise MissingExtraError("finding near duplicates", package="datasketch", extra="full") from None
        # A pair that is missed stays in the corpus, one that is found in vain costs a comparison: a pair at the threshold itself is
        # found in 98 % of cases, one a twentieth above it practically always.
        chosen = datasketch.MinHashLSH(threshold=threshold, num_perm=_PERMUTATIONS, weights=(0.005, 0.995))
        self.count, self._rows = int(chosen.b), int(chosen.r)
        # What is hashed has been hashed already.
        self._sketch = datasketch.MinHash(num_perm=self.count * self._rows, seed=_SEED, hashfunc=int)
        self._weights = np.random.default_rng(_SEED).integers(1, 2**63, size=self._rows, dtype=np.uint64) | np.uint64(1)

    def bands(self, own: _Integers) -> npt.NDArray[np.uint64]:
        """A 64-bit digest of each band of the signature of a set."""
        self._sketch.clear()
        self._sketch.update_batch(own.tolist())
        rows = np.asarray(self._sketch.hashvalues, dtype=np.uint64).reshape(self.count, self._rows)
        # Sums of products modulo 2 ** 64; two bands that meet by chance are told apart by the true similarity.
        mixed: npt.NDArray[np.uint64] = (rows * self._weights).sum(axis=1, dtype=np.uint64)
        return mixed


def _digest(words: Sequence[str]) -> bytes:
    """16 bytes that stand for words in order; without any words zeros."""
    if not words:
        return bytes(16)
    return blake2b("\n".join(words).encode(errors="surrogatepass"), digest_size=16).digest()


def _repeated(values: npt.NDArray[Any]) -> list[list[int]]:
    """The places of each value that is met more than once, in order; zeros stand for what repeats nothing."""
    if values.dtype.itemsize == 16:
        halves = values.view(np.uint64).reshape(-1, 2)
        order = np.lexsort((halves[:, 1], halves[:, 0]))
        ordered = halves[order]
        same = (ordered[1:] == ordered[:-1]).all(axis=1) & (ordered[1:] != 0).any(axis=1)
    else:
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        same = (ordered[1:] == ordered[:-1]) & (ordered[1:] != 0)
    found: list[list[int]] = []
    last = -2
    for place in np.flatnonzero(same).tolist():
        if place == last + 1:
            found[-1].append(int(order[place + 1]))
        else:
            found.append([int(order[place]), int(order[place + 1])])
        last = place
    return found
