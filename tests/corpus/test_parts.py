"""Splits, draws and merges: nothing on two sides, sizes as asked for, the same seed the same bytes, nothing lost."""

import random
import unicodedata
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.artefact import Manifest, verify
from tertulia.corpus import grouped
from tertulia.corpus.exchange import Report
from tertulia.corpus.model import (
    Annotation,
    Candidate,
    Context,
    Dialogue,
    RankingRecord,
    Record,
    Turn,
    Utterance,
)
from tertulia.corpus.opening import open_collection
from tertulia.corpus.parts.belonging import groups_of, normalised
from tertulia.corpus.parts.merging import merge_collections
from tertulia.corpus.parts.sampling import sample_collection
from tertulia.corpus.parts.splitting import assign, split_collection, targets
from tertulia.corpus.ranking_set import write_ranking_set
from tertulia.corpus.store import Corpus, write_corpus
from tertulia.errors import ArtefactError, InputError, UsageError

from ..conftest import dialogue

WORDS = ["yes", "Yes ", "no", "no\t\n", "ＮＯ", "maybe", ""]


def write(path: Path, records: list[Record]) -> Path:
    write_corpus(path, records, Manifest("corpus", details={"format": "jsonl"}, licence="CC0-1.0")).close()
    return path


def made(count: int, seed: int = 1) -> list[Record]:
    chance = random.Random(seed)
    found = []
    for number in range(count):
        whole = dialogue(f"d{number:04d}", chance.choices(WORDS, k=chance.randrange(3)), chance.choice("abc"))
        whole.attributes = {"worker": f"w{chance.randrange(40)}"}
        whole.started_at = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=chance.randrange(400))
        whole.utterances += [Utterance(len(whole.utterances), 9, "A", str(number))] * (chance.random() < 0.8)
        found.append(Record(whole, [Annotation(whole.id, "rating", "ann", value=float(number))]))
    return found


def splits_of(path: Path) -> dict[str, str | None]:
    with Corpus(path) as corpus:
        return {record.dialogue.id: record.dialogue.split for record in corpus.records()}


def plain(text: str) -> str:
    """The definition of equal texts."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=8))
def test_texts_are_compared_as_the_definition_says(texts: list[str]) -> None:
    # Python and Arrow have different versions of Unicode; what both know is compared.
    texts = [text for text in texts if text.isprintable() and ord(max(text, default="a")) < 0x2000]
    assert normalised(pa.array(texts, pa.string())).to_pylist() == [plain(text) for text in texts]


def definition(records: list[Record], *, first_only: bool, together: str | None) -> list[int]:
    """Groups by looking at every pair until nothing changes."""
    labels = list(range(len(records)))

    def texts(record: Record) -> list[str]:
        found = [plain(text) for text in record.dialogue.texts]
        return found[:1] if first_only else found

    def belong(one: Record, other: Record) -> bool:
        if any(texts(one)) and texts(one) == texts(other):
            return True
        return together is not None and one.dialogue.attributes[together] == other.dialogue.attributes[together]

    changed = True
    while changed:
        changed = False
        for a in range(len(records)):
            for b in range(len(records)):
                if labels[a] != labels[b] and belong(records[a], records[b]):
                    low, high = sorted((labels[a], labels[b]))
                    labels = [low if label == high else label for label in labels]
                    changed = True
    return labels


@pytest.mark.parametrize("together", [None, "worker"])
@pytest.mark.parametrize("by", ["dialogue", "prompt"])
def test_groups_are_those_of_the_definition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: Any, together: str | None
) -> None:
    monkeypatch.setattr(grouped, "_GROUP_ROWS", 17)
    records = made(90)
    with Corpus(write(tmp_path / "c", records)) as corpus:
        found = groups_of(corpus, by, together)
    assert found.tolist() == definition(records, first_only=by == "prompt", together=together)


def test_contexts_of_one_dialogue_or_of_equal_turns_are_one_group(tmp_path: Path) -> None:
    def context(name: str, dialogue_id: str | None, *texts: str) -> RankingRecord:
        return RankingRecord(Context(name, [Turn("user", text) for text in texts], dialogue_id))

    records = [
        context("a", "d1", "hello"),
        context("b", "d1", "hello", "you"),
        context("c", "d2", "HELLO  you"),
        context("d", None, "hello"),
        context("e", "d2", "other"),
        context("f", None, "hello you"),
        context("g", None),
        context("h", None),
    ]
    write_ranking_set(tmp_path / "s", records, Manifest("ranking-set")).close()
    with open_collection(tmp_path / "s") as found:
        labels = groups_of(found, "prompt").tolist()
    # a, b: one dialogue; d: a's turns; c is not b: two turns are not one; f: c's turns; e: c's dialogue.
    assert labels == [0, 0, 2, 0, 2, 2, 6, 7]
    assert split_collection(tmp_path / "s", None, by="prompt", counts={"test": 3})["test"] == 3
    with open_collection(tmp_path / "s") as found:
        sides = [record.context.split for record in found.records()]
    assert len({sides[0], sides[1], sides[3]}) == len({sides[2], sides[4], sides[5]}) == 1


@pytest.mark.parametrize("by", ["dialogue", "prompt", "time"])
def test_nothing_is_on_two_sides_and_sizes_are_as_asked_for(tmp_path: Path, by: Any) -> None:
    records = made(400)
    path = write(tmp_path / "c", records)
    found = split_collection(path, tmp_path / "s", by=by, seed=3)
    sides = splits_of(tmp_path / "s")
    assert Counter(sides.values()) == Counter(found)
    sizes = [found["train"], found["dev"], found["test"]]
    # By time a group goes where its earliest falls, so the sizes are near what is asked for, not at it.
    assert sizes == [320, 40, 40] if by == "dialogue" else all(sizes)
    first = 1 if by == "prompt" else None
    groups = defaultdict(set)
    for record in records:
        groups[tuple(plain(text) for text in record.dialogue.texts[:first])].add(sides[record.dialogue.id])
    assert all(len(split) == 1 for texts, split in groups.items() if any(texts))
    with Corpus(path) as before, Corpus(tmp_path / "s", check_digests=True) as after:
        for one, other in zip(before.records(), after.records(), strict=True):
            assert other.dialogue.split is not None
            other.dialogue.split = None
            assert one == other
        assert after.manifest.details["format"] == "jsonl"
        assert after.manifest.licence == "CC0-1.0"
    assert splits_of(path) == dict.fromkeys(sides)


def test_by_time_the_earliest_come_first(tmp_path: Path) -> None:
    start = datetime(2020, 1, 1, tzinfo=UTC)
    records = []
    for number in range(50):
        whole = dialogue(f"d{(number * 7) % 50:02d}", [f"text {number}"])
        if number % 2:
            whole.started_at = start + timedelta(days=number)
        else:
            whole.utterances[0].sent_at = start + timedelta(days=number)
        records.append(Record(whole))
    path = write(tmp_path / "c", records)
    assert split_collection(path, None, by="time", fractions={"old": 0.5, "new": 0.5}) == {"old": 25, "new": 25}
    sides = splits_of(path)
    assert all(sides[r.dialogue.id] == ("old" if number < 25 else "new") for number, r in enumerate(records))
    late = write(tmp_path / "late", [*records, Record(dialogue("no-time", ["x"]))])
    with pytest.raises(InputError, match="1 of 51 dialogues have no time to split by"):
        split_collection(late, None, by="time")
    assert set(splits_of(late).values()) == {None}


def test_the_same_seed_gives_the_same_bytes_and_another_another(tmp_path: Path) -> None:
    path = write(tmp_path / "c", made(100))
    for name, seed in (("a", 1), ("b", 1), ("c2", 2)):
        split_collection(path, tmp_path / name, seed=seed)
        verify(tmp_path / name, "corpus")
    contents = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("a", "b", "c2")]
    assert contents[0] == contents[1]
    assert contents[0]["dialogues.parquet"] != contents[2]["dialogues.parquet"]
    assert contents[0]["utterances.parquet"] == contents[2]["utterances.parquet"]


def test_splits_that_are_there_are_not_replaced_unasked(tmp_path: Path) -> None:
    path = write(tmp_path / "c", made(30))
    split_collection(path, None)
    before = splits_of(path)
    with pytest.raises(ArtefactError, match="has splits already"):
        split_collection(path, None, seed=5)
    with pytest.raises(ArtefactError, match="exists already"):
        split_collection(path, path, seed=5)
    assert splits_of(path) == before
    split_collection(path, None, seed=5, overwrite=True)
    assert splits_of(path) != before


@settings(max_examples=80, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=30),
    shares=st.lists(st.integers(0, 10), min_size=1, max_size=4).filter(any),
    in_order=st.booleans(),
    seed=st.integers(0, 5),
)
def test_groups_stay_whole_and_singletons_make_sizes_exact(
    sizes: list[int], shares: list[int], in_order: bool, seed: int
) -> None:
    sizes += [1] * (5 * len(shares)) if not in_order else []
    labels = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes).astype(np.int64)
    fractions = {str(number): share / sum(shares) for number, share in enumerate(shares)}
    wanted = list(targets(len(labels), fractions=fractions, counts=None).values())
    assert sum(wanted) == len(labels)
    order = np.random.default_rng(seed).permutation(len(labels)).astype(np.int64)
    found = assign(labels, order, wanted, in_order=in_order)
    for label in np.unique(labels):
        assert len(set(found[labels == label])) == 1
    assert len(found) == len(labels)
    if in_order:
        earliest = {label: order[labels == label].min() for label in np.unique(labels)}
        ordered = [found[labels == label][0] for label in sorted(earliest, key=lambda label: earliest[label])]
        assert ordered == sorted(ordered)


@pytest.mark.parametrize(
    ("fractions", "counts", "message"),
    [
        ({"train": 0.9, "test": 0.2}, None, "sum to 1.1"),
        ({"train": 1.5, "test": -0.5}, None, "expected shares between 0 and 1"),
        (None, {"dev": 101}, "sum to 101, and there are only 100"),
        (None, {"dev": -1}, "whole numbers from 0"),
        (None, {"train": 50, "dev": 10}, "leave 40 over"),
    ],
)
def test_numbers_that_make_no_split(fractions: Any, counts: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        targets(100, fractions=fractions, counts=counts)


def test_targets_are_exact() -> None:
    assert targets(10, fractions={"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}, counts=None) == {"a": 4, "b": 3, "c": 3}
    assert targets(27_383, fractions=None, counts=None) == {"train": 21_907, "dev": 2_738, "test": 2_738}
    assert targets(100, fractions=None, counts={"dev": 10, "test": 20}) == {"train": 70, "dev": 10, "test": 20}


# -- draws ------------------------------------------------------------------------------------------------------------


def ids_of(path: Path) -> list[str]:
    with open_collection(path) as found:
        return [found.layout.key(record) for record in found.records()]


def test_a_draw_is_seeded_and_a_larger_one_holds_a_smaller_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "_GROUP_ROWS", 23)
    records = made(200)
    path = write(tmp_path / "c", records)
    drawn = {}
    for name, count, seed in (("a", 20, 1), ("b", 20, 1), ("c2", 50, 1), ("d", 20, 2)):
        sample_collection(path, tmp_path / name, count=count, seed=seed).close()
        drawn[name] = ids_of(tmp_path / name)
        assert len(drawn[name]) == count
    assert drawn["a"] == drawn["b"]
    assert set(drawn["a"]) < set(drawn["c2"])
    assert drawn["a"] != drawn["d"]
    with Corpus(path) as whole, Corpus(tmp_path / "a") as part:
        for identifier in drawn["a"]:
            assert part.get(identifier) == whole.get(identifier)


def test_a_draw_of_domains_and_splits_and_in_proportion(tmp_path: Path) -> None:
    records = made(300)
    path = write(tmp_path / "c", records)
    split_collection(path, None)
    sides = splits_of(path)
    sample_collection(path, tmp_path / "dev", splits=["dev"]).close()
    assert ids_of(tmp_path / "dev") == sorted(name for name, side in sides.items() if side == "dev")
    sample_collection(path, tmp_path / "part", fraction=0.1, per="domain", domains=["a", "b"]).close()
    by_domain = Counter(record.dialogue.domain for record in records)
    with Corpus(tmp_path / "part") as found:
        drawn = Counter(record.dialogue.domain for record in found.records())
    assert set(drawn) == {"a", "b"}
    assert all(abs(drawn[name] - by_domain[name] / 10) <= 1 for name in drawn)
    with pytest.raises(InputError, match="has no dialogue of the domains and splits asked for"):
        sample_collection(path, tmp_path / "x", domains=["nothing"])
    with pytest.raises(UsageError, match="asked to draw 301 of 300"):
        sample_collection(path, tmp_path / "x", count=301)
    with pytest.raises(ArtefactError, match="is an input as well"):
        sample_collection(path, path, count=3, overwrite=True)
    assert not (tmp_path / "x").exists()


# -- merges -----------------------------------------------------------------------------------------------------------


def test_a_merge_holds_all_and_unites_annotations(tmp_path: Path) -> None:
    both = Annotation("b", "rating", "ann", value=1.0)
    first = [Record(dialogue("a", ["x"])), Record(dialogue("b", ["y"]), [both])]
    other = Annotation("b", "rating", "bob", value=2.0)
    second = [Record(dialogue("b", ["y"]), [both, other]), Record(dialogue("c", ["x"]))]
    paths = [write(tmp_path / "one", first), write(tmp_path / "two", second)]
    report = Report()
    with merge_collections(paths, tmp_path / "m", report) as merged:
        assert isinstance(merged, Corpus)
        found = {record.dialogue.id: record for record in merged.records()}
        assert merged.manifest.report == report.to_json()
    assert list(found) == ["a", "b", "c"]
    assert found["b"].annotations == [both, other]
    assert report.noted["ids that stand in several, taken as one"].count == 1
    with merge_collections(paths, tmp_path / "d", Report(), drop_duplicates=True) as merged:
        assert [merged.layout.key(record) for record in merged.records()] == ["a", "b"]
    with merge_collections(paths, tmp_path / "p", Report(), prefix=True) as merged:
        found = {record.dialogue.id: record for record in merged.records()}  # type: ignore[union-attr]
    assert list(found) == ["one/a", "one/b", "two/b", "two/c"]
    assert {note.dialogue_id for note in found["two/b"].annotations} == {"two/b"}


def test_a_merge_refuses_what_does_not_fit(tmp_path: Path) -> None:
    one = write(tmp_path / "one", [Record(dialogue("a", ["x"]))])
    two = write(tmp_path / "two", [Record(dialogue("a", ["other"]))])
    write_ranking_set(tmp_path / "set", [], Manifest("ranking-set")).close()
    with pytest.raises(InputError, match=r"two: 'a' stands in .*one too, and is not the same there"):
        merge_collections([one, two], tmp_path / "m", Report())
    with pytest.raises(ArtefactError, match=r"is a ranking-set, and .* is a corpus"):
        merge_collections([one, tmp_path / "set"], tmp_path / "m", Report())
    with pytest.raises(ArtefactError, match="is an input as well"):
        merge_collections([one, two], one, Report(), overwrite=True)
    with pytest.raises(UsageError, match="two or more"):
        merge_collections([one], tmp_path / "m", Report())
    assert not (tmp_path / "m").exists()


def test_ranking_sets_merge_too(tmp_path: Path) -> None:
    def record(name: str, text: str) -> RankingRecord:
        return RankingRecord(Context(name, [Turn("user", "hi")], "d"), [Candidate(0, text, 1.0)])

    for name, records in (("one", [record("a", "x")]), ("two", [record("a", "x"), record("b", "y")])):
        write_ranking_set(tmp_path / name, records, Manifest("ranking-set")).close()
    with merge_collections([tmp_path / "one", tmp_path / "two"], tmp_path / "m", Report()) as merged:
        assert list(merged.records()) == [record("a", "x"), record("b", "y")]


def test_dialogues_without_utterances_belong_to_nobody(tmp_path: Path) -> None:
    records = [Record(Dialogue(f"d{n}", [])) for n in range(10)]
    with Corpus(write(tmp_path / "c", records)) as corpus:
        assert groups_of(corpus, "dialogue").tolist() == list(range(10))
    assert split_collection(tmp_path / "c", None) == {"train": 8, "dev": 1, "test": 1}
