"""The arrays of a segment's index file: an inverted index over utterances, and what bounds scores before computing.

==================== ========= ==================================================================================
array                count     what
==================== ========= ==================================================================================
``dialogue_row``     D + 1     the rows of each dialogue
``dialogue_number``  D         the number of its first utterance in the bank
``number_order``     D         the dialogues by that number
``topic_dialogue``   T + 2     the dialogues of each topic, then those without one
``word_offset``      V + 1     the sorted words in ``word_bytes``
``word_slot``        power of2 hash table of the words: CRC-32, linear probing, word number + 1, 0 is empty
``weight``           V         idf
``word_bit``         V         the word's bit in the first signature
``signature``        n         one bit for each word of the row, several words sharing a bit
``row``              n + 1     a record a row: a second signature, the reciprocal of ‖row^3‖, where its words begin
``term``             P         the words of each row, ascending; 16-bit numbers where they suffice
``context_norm``     n         ‖row^3‖
``context_*``        V, ...    for each word the rows that have it and a row after them, by ascending ‖row^3‖
``response_*``       V, ...    for each word the rows that have it and a row before them, by ascending ‖before^3‖
==================== ========= ==================================================================================

A list is cut into blocks of 64. ``*_least`` is the least norm in a block and those after it, so that a list can be left
as soon as no later row can matter; ``context_most`` is the largest sum of idf² in a block and those before it, for the
same list read backwards as the list of r_{i-2}. The lists are ordered by classes of the norm that are about 5 % wide
and by row within a class, which keeps neighbours of the same topic together.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.retrieval.texts import encode, offsets_of
from tertulia.retrieval.weights import powers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.retrieval.collector import Rows

__all__ = ["BLOCK", "ROW", "blocks_of", "row_sums", "segment_arrays", "segment_meta"]

BLOCK = 64
ROW = np.dtype([("second", "<u8"), ("reciprocal", "<f4"), ("first", "<u4")])

# Signature bits: the 64 commonest words share 16, four each, and all others are spread over the 48 that are left.
_COMMON_WORDS, _COMMON_BITS, _BITS = 64, 16, 64
_ROUND_UP = 1 + 1e-6


def segment_meta(rows: Rows) -> dict[str, Any]:
    """What the header of the index file says."""
    return {
        "dialogues": len(rows.dialogue_number),
        "rows": len(rows.texts),
        "words": len(rows.words),
        "topics": rows.topics,
    }


def segment_arrays(rows: Rows) -> dict[str, NDArray[Any]]:
    """The arrays of the index file."""
    weight = powers(rows.weights)
    count = len(rows.texts)
    cube_norm = np.sqrt(row_sums(rows.first, rows.terms, weight.sixth))
    square_sum = row_sums(rows.first, rows.terms, weight.second)
    row_of = np.repeat(np.arange(count, dtype=np.int64), np.diff(rows.first))

    begins = np.zeros(count + 1, dtype=np.bool_)
    begins[rows.dialogue_row] = True
    has_context = ~begins[:count]
    has_response = ~begins[1:]
    norm_before = np.zeros(count)
    norm_before[1:] = cube_norm[:-1]

    words = len(rows.words)
    context = _lists(words, rows.terms, row_of, has_response, cube_norm)
    response = _lists(words, rows.terms, row_of, has_context, norm_before)
    bit = _word_bits(np.bincount(rows.terms, minlength=words))
    encoded = [encode(word) for word in rows.words]
    arrays: dict[str, NDArray[Any]] = {
        "dialogue_row": rows.dialogue_row.astype("<u4"),
        "dialogue_number": rows.dialogue_number.astype("<i8"),
        "number_order": np.argsort(rows.dialogue_number, kind="stable").astype("<u4"),
        "topic_dialogue": rows.topic_dialogue.astype("<u4"),
        "word_offset": offsets_of([len(word) for word in encoded]).astype("<u4"),
        "word_bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "word_slot": _hash_table(encoded),
        "weight": rows.weights,
        "word_bit": bit,
        "signature": _signatures(rows, np.uint64(1) << bit.astype(np.uint64)),
        "row": _records(rows, bit, cube_norm),
        "term": rows.terms.astype("<u2" if words <= 1 << 16 else "<u4"),
        "context_norm": cube_norm,
    }
    arrays |= {f"context_{name}": array for name, array in context.items()}
    arrays["context_most"] = _most_so_far(context, square_sum)
    arrays |= {f"response_{name}": array for name, array in response.items()}
    return arrays


def row_sums(first: NDArray[np.int64], terms: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of the weights of each row's words, added in term order; ``first`` begins at 0."""
    count = len(first) - 1
    row = np.repeat(np.arange(count, dtype=np.int64), np.diff(first))
    # bincount adds one after the other, in order; a reduction would add pairwise and end in other bits.
    return np.bincount(row, weights=weights[terms], minlength=count).astype(np.float64, copy=False)


def blocks_of(first: NDArray[Any]) -> NDArray[np.int64]:
    """Where the blocks of each list begin, from where the lists begin."""
    lengths = np.diff(first.astype(np.int64)).astype(np.int64)
    return offsets_of(-(-lengths // BLOCK))


def _lists(
    words: int,
    terms: NDArray[np.int64],
    row_of: NDArray[np.int64],
    listed: NDArray[np.bool_],
    norm: NDArray[np.float64],
) -> dict[str, NDArray[Any]]:
    """Posting lists over the ``listed`` rows, each by ascending class of ``norm`` and then by row."""
    chosen = listed[row_of]
    term, row = terms[chosen], row_of[chosen]
    # The exponent and four bits of the fraction of a 32-bit float: a logarithmic class that is the same everywhere.
    norm_class = norm.astype(np.float32).view(np.uint32).astype(np.int64) >> 19
    order = np.argsort(norm_class[row], kind="stable")
    order = order[np.argsort(term[order], kind="stable")]
    row = row[order]
    first = offsets_of(np.bincount(term, minlength=words))
    blocks = blocks_of(first)
    least = _by_block(np.minimum, norm[row], first, blocks)
    backwards = _running_within_lists(np.minimum, least[::-1], _starts_backwards(blocks))
    rounded_down = np.nextafter(backwards[::-1].astype(np.float32), np.float32(0))
    return {
        "first": first.astype("<u4"),
        "row": row.astype("<u4"),
        "block": blocks[:-1].astype("<u4"),
        "least": rounded_down.astype("<f4"),
    }


def _most_so_far(lists: dict[str, NDArray[Any]], square_sum: NDArray[np.float64]) -> NDArray[np.float32]:
    first = lists["first"].astype(np.int64)
    blocks = blocks_of(first)
    most = _by_block(np.maximum, square_sum[lists["row"]], first, blocks)
    running = _running_within_lists(np.maximum, most, blocks[:-1])
    return np.nextafter(running.astype(np.float32), np.float32(np.inf)).astype("<f4")


def _by_block(
    reduction: np.ufunc, values: NDArray[np.float64], first: NDArray[np.int64], blocks: NDArray[np.int64]
) -> NDArray[np.float64]:
    """One value a block."""
    if not len(values):
        return np.zeros(0)
    of_list = np.diff(blocks)
    within = np.arange(int(blocks[-1]), dtype=np.int64) - np.repeat(blocks[:-1], of_list)
    starts = np.repeat(first[:-1], of_list) + within * BLOCK
    return np.asarray(reduction.reduceat(values, starts))


def _starts_backwards(blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each list begins when all blocks stand in reverse."""
    starts: NDArray[np.int64] = (blocks[-1] - blocks[1:])[::-1]
    return starts


def _running_within_lists(
    operation: np.ufunc, values: NDArray[np.float64], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The running minimum or maximum, begun anew at each list, by doubling the reach until no list is longer."""
    running = values.copy()
    count = len(values)
    begins = np.zeros(count + 1, dtype=np.int64)
    np.add.at(begins, starts, 1)
    list_of = np.cumsum(begins[:count])
    longest = int(np.bincount(list_of).max()) if count else 0
    reach = 1
    while reach < longest:
        same = list_of[reach:] == list_of[:-reach]
        shifted = running[:-reach].copy()
        running[reach:][same] = operation(running[reach:], shifted)[same]
        reach *= 2
    return running


def _word_bits(frequency: NDArray[np.int64]) -> NDArray[np.uint8]:
    words = np.arange(len(frequency), dtype=np.uint64)
    spread = ((words * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)) >> np.uint64(8)
    bits = (_COMMON_BITS + spread % np.uint64(_BITS - _COMMON_BITS)).astype(np.uint8)
    common = np.argsort(-frequency, kind="stable")[:_COMMON_WORDS]
    bits[common] = np.arange(len(common)) % _COMMON_BITS
    return bits


def _second_bits(words: int) -> NDArray[np.uint64]:
    """The bit in the second signature, which only words that are not common have; another hash than the first."""
    spread = (np.arange(words, dtype=np.uint64) * np.uint64(0x85EBCA6B)) & np.uint64(0xFFFFFFFF)
    bits: NDArray[np.uint64] = (spread >> np.uint64(15)) % np.uint64(_BITS)
    return bits


def _records(rows: Rows, bit: NDArray[np.uint8], cube_norm: NDArray[np.float64]) -> NDArray[Any]:
    count = len(rows.texts)
    records = np.zeros(count + 1, dtype=ROW)
    second_masks = np.where(bit < _COMMON_BITS, np.uint64(0), np.uint64(1) << _second_bits(len(bit)))
    records["first"] = rows.first
    records["second"][:count] = _signatures(rows, second_masks)
    has_words = cube_norm > 0
    records["reciprocal"][:count][has_words] = (_ROUND_UP / cube_norm[has_words]).astype(np.float32)
    return records


def _signatures(rows: Rows, masks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The masks of each row's words together."""
    signatures = np.zeros(len(rows.texts), dtype="<u8")
    has_words = np.flatnonzero(np.diff(rows.first))
    if len(has_words):
        signatures[has_words] = np.bitwise_or.reduceat(masks[rows.terms], rows.first[:-1][has_words])
    return signatures


def _hash_table(words: list[bytes]) -> NDArray[np.uint32]:
    """Linear probing over a power of two of at least twice as many slots as words."""
    size = 1 << max(1, (2 * len(words)).bit_length())
    table = [0] * size
    for index, word in enumerate(words):
        slot = zlib.crc32(word) & (size - 1)
        while table[slot]:
            slot = (slot + 1) & (size - 1)
        table[slot] = index + 1
    return np.array(table, dtype="<u4")
