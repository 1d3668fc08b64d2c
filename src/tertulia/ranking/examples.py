"""What rankers learn from and score: a context with its candidates, and the splits of a set as lists of them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from tertulia.corpus.model import Candidate, RankingRecord, Turn
from tertulia.corpus.parts.splitting import DEFAULT_FRACTIONS, assign, targets
from tertulia.errors import InputError
from tertulia.ranking.grouping import folded_turns, group_numbers, question_of
from tertulia.ranking.votes import vote_relevance

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from tertulia.corpus.ranking_set import RankingSet

__all__ = ["Example", "Splits", "belonging", "example_of", "load_splits", "order_key", "read_examples"]

TRAIN, DEV, TEST = "train", "dev", "test"
# So many votes nobody casts: what says so is no count of votes.
_VOTES = 2**53


@dataclass(frozen=True, slots=True)
class Example:
    """A context and its candidates. Arrays have the shape (candidates,), in order of position.

    ``relevance`` is NaN where nobody has said. ``deviation`` is the standard deviation of a relevance that is an estimate from
    a sample of votes; 0 where it is given as it is. ``domain`` is that of the context.
    """

    id: str
    turns: tuple[Turn, ...]
    texts: tuple[str, ...]
    relevance: NDArray[np.float64]
    deviation: NDArray[np.float64]
    domain: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def prompt(self) -> str:
        """The text of the last turn; empty where there is none."""
        return self.turns[-1].text if self.turns else ""


class Splits(NamedTuple):
    """The examples of a set by what they are for, and how the set came to be divided (a sentence for people)."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]
    how: str


def example_of(record: RankingRecord, texts: dict[str, str] | None = None) -> Example:
    """A record as rankers see it; equal texts become one object where ``texts`` is given.

    Raises
    ------
    InputError
        A relevance is infinite.
    """
    texts = {} if texts is None else texts
    candidates = record.candidates
    values = [np.nan if candidate.relevance is None else candidate.relevance for candidate in candidates]
    relevance = np.array(values, dtype=np.float64)
    if np.isinf(relevance).any():
        place = int(np.flatnonzero(np.isinf(relevance))[0])
        raise InputError(
            f"the candidate {place} of the context {record.context.id!r} has the relevance {values[place]}; "
            "expected a finite number, or none"
        )
    return Example(
        record.context.id,
        tuple(Turn(turn.role, texts.setdefault(turn.text, turn.text)) for turn in record.context.turns),
        tuple(texts.setdefault(candidate.text, candidate.text) for candidate in candidates),
        relevance,
        np.array([_deviation(candidate) for candidate in candidates], dtype=np.float64),
        record.context.domain,
        record.context.attributes,
    )


def _deviation(candidate: Candidate) -> float:
    """Of a relevance that likes and dislikes tell: the deviation of the Beta distribution whose mean it is; else 0."""
    likes, dislikes = candidate.attributes.get("likes"), candidate.attributes.get("dislikes")
    if not _is_count(likes) or not _is_count(dislikes) or candidate.relevance is None:
        return 0.0
    mean, deviation = vote_relevance(likes, dislikes)
    # Votes may also stand beside a relevance that somebody has given.
    return deviation if math.isclose(candidate.relevance, mean, rel_tol=1e-6) else 0.0


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _VOTES


def read_examples(source: RankingSet) -> tuple[dict[str | None, list[Example]], dict[str, str | None]]:
    """All examples of a set by split, equal texts held once; and of each, by id, the id of its dialogue.

    Raises
    ------
    InputError
        There is none.
    """
    texts: dict[str, str] = {}
    named: dict[str | None, list[Example]] = {}
    dialogues: dict[str, str | None] = {}
    for record in source.records():
        named.setdefault(record.context.split, []).append(example_of(record, texts))
        dialogues[record.context.id] = record.context.dialogue_id
    if not named:
        raise InputError("has no context", where=source.path)
    return named, dialogues


def load_splits(source: RankingSet, *, seed: int = 0, needed: Collection[str] = (TRAIN, DEV, TEST)) -> Splits:
    """All of a ranking set, in memory: equal texts are held once.

    A set without splits is divided 80/10/10 by prompt, seeded, as ``corpus split --by prompt`` would: contexts of equal turns or
    of one dialogue, or on one question, are never on two sides. Where there is a test split but no dev split, a tenth of train
    becomes dev, likewise.

    Raises
    ------
    InputError
        There is no context, or a split that is ``needed`` is empty.
    """
    named, dialogues = read_examples(source)
    how = "as the set says"
    if not named.keys() & {TRAIN, TEST}:
        everything = [example for split in sorted(named, key=str) for example in named[split]]
        named = _divided(everything, dialogues, DEFAULT_FRACTIONS, seed)
        how = f"80/10/10 by prompt, with the seed {seed}: the set has no splits"
    elif DEV not in named:
        found = _divided(named.get(TRAIN, []), dialogues, {TRAIN: 0.9, DEV: 0.1}, seed)
        named |= found
        how = f"a tenth of train, by prompt, with the seed {seed}, is dev: the set has none"
    other = sum(len(examples) for split, examples in named.items() if split not in (TRAIN, DEV, TEST))
    if other:
        how += f"; {other:,} contexts of no split or another one are left out"
    splits = Splits(named.get(TRAIN, []), named.get(DEV, []), named.get(TEST, []), how)
    for name, examples in zip((TRAIN, DEV, TEST), splits, strict=False):
        if name in needed and not examples:
            raise InputError(
                f"has no context in the split {name} ({how})",
                where=source.path,
                hint="tertulia corpus split divides it",
            )
    return splits


def _divided(
    examples: list[Example], dialogues: Mapping[str, str | None], fractions: Mapping[str, float], seed: int
) -> dict[str | None, list[Example]]:
    wanted = targets(len(examples), fractions=fractions, counts=None)
    groups = np.array(belonging(examples, dialogues), dtype=np.int64)
    order = np.array([order_key(seed, example.id) for example in examples], dtype=np.uint64)
    assigned = assign(groups, order, list(wanted.values()), in_order=False) if examples else groups
    return {
        name: [example for example, split in zip(examples, assigned.tolist(), strict=True) if split == number]
        for number, name in enumerate(wanted)
    }


def belonging(examples: Sequence[Example], dialogues: Mapping[str, str | None]) -> list[int]:
    """A number for each example, equal for those that stay together: of one dialogue, of equal turns, on one question."""
    return group_numbers(_keys(example, dialogues.get(example.id)) for example in examples)


def _keys(example: Example, dialogue: str | None) -> Iterator[tuple[str, object]]:
    turns = folded_turns(turn.text for turn in example.turns)
    yield "turns", turns
    if (question := question_of(turns)) is not None:
        yield "question", question
    if dialogue is not None:
        yield "dialogue", dialogue


def order_key(seed: int, name: str) -> int:
    """A number of 64 bits by which things of these names come in a random order that the seed decides."""
    data = f"{seed}\x00{name}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
