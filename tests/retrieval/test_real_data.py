"""The matching score equals its definition on the Self-dialogue Corpus, with the dialogues of 5 % of the workers as queries."""

import random

import pytest

from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.formats.self_dialogue import SelfDialogueFormat
from tertulia.retrieval import MatchingIndex

from .banks import Model
from .definition import LargeBank

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def bank_and_queries(data):
    folder = data / "self_dialogue"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    records = SelfDialogueFormat().read(str(folder), Report(), ReadOptions())
    dialogues = sorted((record.dialogue for record in records), key=lambda dialogue: dialogue.id)
    workers = sorted({dialogue.attributes["worker"] for dialogue in dialogues})
    random.Random(7).shuffle(workers)
    held_out = set(workers[: len(workers) // 20])
    bank = [dialogue for dialogue in dialogues if dialogue.attributes["worker"] not in held_out]
    queries = [
        (dialogue.texts[i], dialogue.texts[i - 1], dialogue.domain)
        for dialogue in dialogues
        if dialogue.attributes["worker"] in held_out
        for i in range(1, len(dialogue.texts))
    ]
    random.Random(3).shuffle(queries)
    return bank, queries


@pytest.fixture(scope="module")
def built(bank_and_queries, tmp_path_factory):
    bank, _ = bank_and_queries
    path = tmp_path_factory.mktemp("real") / "bank"
    MatchingIndex.build(bank, path).close()
    model = Model()
    model.add(bank)
    return path, model, LargeBank(model.placed)


def assert_same(index, large, queries):
    for number, (text, previous, topic) in enumerate(queries):
        options = {"topic": topic if number % 2 else None}
        found = [tuple(match) for match in index.search(text, previous, **options)]
        assert found == large.rank(text, previous, **options)


def test_a_thousand_held_out_queries(built, bank_and_queries):
    path, _, large = built
    _, queries = bank_and_queries
    with MatchingIndex.open(path) as index:
        assert_same(index, large, queries[:1000])


def test_every_kernel_agrees(kernel, built, bank_and_queries):
    path, _, large = built
    _, queries = bank_and_queries
    with MatchingIndex.open(path) as index:
        assert_same(index, large, queries[1000:1050])


def test_after_adds_and_removals(built, bank_and_queries, tmp_path):
    _, model, _ = built
    bank, queries = bank_and_queries
    generator = random.Random(1)
    changed = Model()
    with MatchingIndex.build(bank[:-3000], tmp_path / "bank") as index:
        changed.add(bank[:-3000])
        for start in range(len(bank) - 3000, len(bank), 1000):
            index.add(bank[start : start + 1000])
            changed.add(bank[start : start + 1000])
        assert [placed.number for placed in changed.placed] == [placed.number for placed in model.placed]
        gone = {dialogue.id for dialogue in generator.sample(bank, 2000)}
        index.remove(gone)
        changed.remove(gone)
        large = LargeBank(changed.placed)
        assert_same(index, large, queries[1100:1180])
        index.compact()
        assert_same(index, large, queries[1180:1260])
