"""Cross-validation: every context is test once, and no prompt or dialogue is on two sides."""

from pathlib import Path

import pytest

from tertulia.artefact import Manifest
from tertulia.corpus.model import Candidate, Context, RankingRecord, Turn
from tertulia.corpus.ranking_set import RANKING_SET, RankingSet, write_ranking_set
from tertulia.errors import InputError, UsageError
from tertulia.ranking.folds import load_folds


def made(path: Path, contexts: int) -> RankingSet:
    """Contexts of which every third repeats the prompt of the one before, and every fourth shares its dialogue with the next."""
    records = []
    for number in range(contexts):
        prompt = f"what about number {number - (number % 3 == 2)}?"
        dialogue = f"d{number + (number % 4 == 0)}"
        context = Context(f"c{number:03d}", [Turn("user", prompt)], dialogue, split=("train", "test")[number % 2])
        records.append(RankingRecord(context, [Candidate(0, "yes", 1.0), Candidate(1, "no", 0.0)]))
    return write_ranking_set(path, records, Manifest(RANKING_SET))


def test_each_context_is_test_once_and_dev_once(tmp_path: Path) -> None:
    source = made(tmp_path / "set", 50)
    folds = load_folds(source, 5)
    assert len(folds) == 5
    for part in ("test", "dev"):
        found = [example.id for fold in folds for example in getattr(fold, part)]
        assert sorted(found) == [f"c{number:03d}" for number in range(50)]
    for fold in folds:
        assert len(fold.train) + len(fold.dev) + len(fold.test) == 50
        assert 8 <= len(fold.test) <= 12


def test_what_belongs_together_is_never_on_two_sides(tmp_path: Path) -> None:
    source = made(tmp_path / "set", 50)
    dialogues = {record.context.id: record.context.dialogue_id for record in source.records()}
    for fold in load_folds(source, 4, seed=3):
        for key in (lambda example: example.prompt, lambda example: dialogues[example.id]):
            sides = [{key(example) for example in part} for part in (fold.train, fold.dev, fold.test)]
            assert not sides[0] & sides[1]
            assert not sides[0] & sides[2]
            assert not sides[1] & sides[2]


def test_the_seed_decides(tmp_path: Path) -> None:
    source = made(tmp_path / "set", 50)

    def tests(seed: int) -> list[list[str]]:
        return [[example.id for example in fold.test] for fold in load_folds(source, 5, seed=seed)]

    assert tests(0) == tests(0)
    assert tests(0) != tests(1)


def test_too_few(tmp_path: Path) -> None:
    source = made(tmp_path / "set", 3)
    with pytest.raises(UsageError, match="at least 3"):
        load_folds(source, 2)
    with pytest.raises(InputError, match="too few for 4 folds"):
        load_folds(source, 4)
