"""The mantis format: the released layout and its relatives come back as they were, and so does every dialogue."""

import gzip
import json
import re
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance, number_turns
from tertulia.errors import InputError
from tertulia.formats.mantis.format import ANNOTATOR, INTENTS, LAYER, MantisFormat

from . import mutate
from .mantis_files import BEANS, SHEET, TOMATOES, by_corpus, dialogue, put, read, said, same_json, write, written


def test_a_dialogue_becomes_what_the_model_has_for_it(tmp_path: Path) -> None:
    [record], report = read(put(tmp_path / "merged_train.json", {"7": TOMATOES}))
    whole = record.dialogue
    assert (whole.id, whole.domain, whole.split, whole.title) == ("7", "gardens", "train", "Why do my tomatoes sulk?")
    assert whole.started_at == datetime(2015, 4, 1, 10, 20, 30, 450_000, UTC)
    assert whole.attributes == {"has_intent_labels": True}
    first = whole.utterances[0]
    assert first == Utterance(
        0,
        0,
        "user",
        "My tomatoes sulk. Why?",
        "user",
        datetime(2015, 4, 1, 10, 20, 30, 450_000, UTC),
        "77_1",
        {"votes": "12", "is_answer": 0, "user_name": "Ivy"},
    )
    assert [(u.role, u.turn) for u in whole.utterances] == [("user", 0), ("agent", 1), ("user", 2), ("agent", 3)]
    rows = [(n.position, n.label) for n in record.annotations]
    assert rows == [(0, "OQ"), (1, "IR"), (1, "PA"), (2, "FD"), (2, "GG"), (3, "PA")]
    assert {(n.layer, n.annotator) for n in record.annotations} == {(LAYER, ANNOTATOR)}
    assert {n.label for n in record.annotations} <= INTENTS.keys()
    assert report.to_json() == {"skipped": {}, "noted": {}}


TIMES = [
    "2015-04-01",
    "2015-04-01T10:20:30",
    "2015-04-01T10:20:30.450123",
    "2015-04-01T12:20:30.450+02:00",
    "2015-W14-3T10:20:30.450",
]
ODD_TIMES = ["yesterday", "", None, 1427883630, 1.5e9, "0001-01-01T00:00:00+14:00", "2015-04-01T24:00:00.000", {"a": 1}]
ODD: dict[str, Any] = {
    "nothing": {},
    "empty": {"0": {"utterances": []}},
    "bare": {"0": {"utterances": [{"actor_type": "user", "utterance_pos": 1, "utterance": ""}]}},
    "nulls": {
        "a": dialogue(said(1, "user", "x", id=None, intent=None, utterance_time=None), category=None, title=None)
    },
    "numbers": {"é 🎉": dialogue(said(1, "user", "x", id=12, votes=1.0), said(2, "user", "y", id=1.5, votes=True))},
    "places": {"0": dialogue(said(0, "user", "x", utterance_time="x"), said(2**70, "agent", "y", utterance_time="y"))},
    "with its id": {"5": dialogue(dialog_id=5), "6": dialogue(dialog_id="six")},
    "array": [dialogue(dialog_id=n) for n in (2, 10, 1, "x", -3)],
    "more": {"0": dialogue(number=1, file="a", key="b", extra=[], urls=["x", {"y": 1}])},
    "intents": {
        "0": dialogue(
            said(1, "user", "x", intent=[]),
            said(2, "user", "x", intent="PA"),
            said(3, "user", "x", intent=["PA", "PA", "FD"]),
            said(4, "user", "x", intent={"ann": ["PA"], "bea": ["PA", "FD"]}),
            said(5, "user", "x", intent={"ann": "PA", "bea": None}),
            said(6, "user", "x", intent={ANNOTATOR: ["PA"]}),
            said(7, "user", "x", intents=["PA"]),
            said(8, "user", "x", intent={}),
        )
    },
    "times": {
        str(n): dialogue(said(1, "user", "x", utterance_time=time), dialog_time=time)
        for n, time in enumerate(TIMES + ODD_TIMES)
    },
}


@pytest.mark.parametrize("name", ["released", *ODD])
def test_reading_then_writing_gives_the_same_json(tmp_path: Path, name: str) -> None:
    value = (
        {"0": BEANS, "1": TOMATOES, "10": BEANS | {"title": "x"}, "2": BEANS | {"title": "y"}}
        if name == "released"
        else ODD[name]
    )
    records, _ = read(put(tmp_path / "data.json", value))
    again, report = written(by_corpus(records, tmp_path / "corpus"), tmp_path / "again.json")
    assert same_json(again, value)
    assert report.skipped == {}


def test_times_in_every_spelling_are_times(tmp_path: Path) -> None:
    records, report = read(put(tmp_path / "data.json", ODD["times"]))
    found = [record.dialogue.started_at for record in records]
    day = datetime(2015, 4, 1, tzinfo=UTC)
    noon = day.replace(hour=10, minute=20, second=30)
    exact = noon.replace(microsecond=450_000)
    assert found[: len(TIMES)] == [day, noon, noon.replace(microsecond=450_123), exact, exact]
    assert report.noted["times of an unknown form"].first == "data.json:1 (record 5)"
    assert [u.sent_at for record in records for u in record.dialogue.utterances] == found


def test_intents_are_rows_by_annotator(tmp_path: Path) -> None:
    [record], _ = read(put(tmp_path / "data.json", ODD["intents"]))
    rows = [((note.position or 0) + 1, note.annotator, note.label) for note in record.annotations]
    assert rows == [
        (2, ANNOTATOR, "PA"),
        *[(3, ANNOTATOR, label) for label in ("FD", "PA", "PA")],
        *[(4, "ann", "PA"), (4, "bea", "FD"), (4, "bea", "PA")],
        (5, "ann", "PA"),
        *[(place, ANNOTATOR, "PA") for place in (6, 7)],
    ]


def test_changed_intents_are_written_as_they_are_now(tmp_path: Path) -> None:
    [record], _ = read(put(tmp_path / "data.json", {"0": TOMATOES}))
    record.annotations = [n for n in record.annotations if n.label != "IR"]
    record.annotations.append(Annotation("0", LAYER, "you", 3, label="O"))
    value, _ = written([record], tmp_path / "again.json")
    assert [u.get("intent") for u in value["0"]["utterances"]] == [
        ["OQ"],
        ["PA"],
        ["FD", "GG"],
        {ANNOTATOR: ["PA"], "you": ["O"]},
    ]


def test_splits_are_files_and_ids_are_told_apart(tmp_path: Path) -> None:
    value = {
        "merged_dev.json": {"0": BEANS},
        "merged_test.json": {"0": BEANS | {"title": "c"}},
        "merged_train.json": {"0": TOMATOES, "1": BEANS | {"title": "b"}},
        "other/notes.json": {"0": BEANS, "one": BEANS},
    }
    for name, part in value.items():
        put(tmp_path / "source" / name, part)
    put(tmp_path / "source" / "data_train_lookup.txt", "0\n0\n")
    records, report = read(tmp_path / "source")
    assert [(r.dialogue.id, r.dialogue.split) for r in records] == [
        ("merged_dev-0", "dev"),
        ("merged_test-0", "test"),
        ("merged_train-0", "train"),
        ("merged_train-1", "train"),
        ("other/notes-0", None),
        ("one", None),
    ]
    assert all(note.dialogue_id == "merged_train-0" for record in records for note in record.annotations)
    assert report.noted["exact duplicates of another conversation"].count == 4
    again, report = written(by_corpus(records, tmp_path / "corpus"), tmp_path / "again")
    assert same_json(again, value)
    assert report.to_json() == {"skipped": {}, "noted": {}}


def test_one_split_is_one_file_whose_name_says_it(tmp_path: Path) -> None:
    records, _ = read(put(tmp_path / "source" / "train.json", {"4": BEANS}))
    report = write(records, tmp_path / "train.json")
    assert report.skipped["splits, which the name of the file has to say"].count == 1
    assert read(tmp_path / "train.json")[0] == records


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train.json", "train"),
        ("merged_dev_intents.json", "dev"),
        ("valid.json", "valid"),
        ("mantis-TEST.json", "test"),
        ("data.json", None),
        ("contest.json", None),
        ("training.json", None),
    ],
)
def test_the_name_of_a_file_says_its_split(tmp_path: Path, name: str, split: str | None) -> None:
    assert read(put(tmp_path / name, {"0": BEANS}))[0][0].dialogue.split == split


BAD: list[tuple[Any, str]] = [
    (5, "holds 5; expected a dialogue"),
    ({}, "utterances holds null; expected a list of objects with actor_type and utterance"),
    (dialogue(5), "utterances holds a list; expected a list of objects"),  # type: ignore[arg-type]
    (dialogue(title=5), "title holds 5; expected a text"),
    (dialogue(category=[]), "category holds a list; expected a text"),
    (dialogue(dialog_id=[]), "dialog_id holds a list; expected a number or a text"),
    (dialogue(dialog_id=True), "dialog_id holds true"),
    (dialogue(more="\ud800"), "the other fields hold half of a surrogate pair"),
    (dialogue(dialog_time={"a": float("inf")}), "the other fields cannot be kept"),
    (
        dialogue(said(1, "user", "x"), said(2, "bot", "y")),
        'utterance 2: actor_type holds "bot"; expected user or agent',
    ),
    (dialogue(said(1, "user", None)), "utterance 1: utterance holds null; expected a text"),  # type: ignore[arg-type]
    (dialogue(said(1, "user", "\udc00")), "utterance holds half of a surrogate pair"),
    (dialogue(said(1, "user", "x", utterance_pos="1")), 'utterance_pos holds "1"; expected a whole number'),
    (dialogue(said(1, "user", "x", utterance_pos=True)), "utterance_pos holds true"),
    (dialogue(said(1, "user", "x", id="\ud800")), "id holds half of a surrogate pair"),
    (dialogue(said(1, "user", "x", intent=5)), "intent holds 5; expected a list of labels"),
    (dialogue(said(1, "user", "x", intent=[5])), "intent holds a list; expected a list of texts"),
    (dialogue(said(1, "user", "x", intent={"ann": 5})), "intent holds 5; expected a list of labels"),
    (dialogue(said(1, "user", "x", intent=["PA"], intents=["PA"])), "there are both intent and intents"),
    (dialogue(said(1, "user", "x", intent={"\ud800": None})), "half of a surrogate pair"),
]


@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize(("bad", "message"), BAD, ids=[message for _, message in BAD])
def test_a_bad_dialogue_is_one_error_or_skipped(tmp_path: Path, bad: Any, message: str, array: bool) -> None:
    good = [dialogue(dialog_id="a"), BEANS | {"dialog_id": "c"}]
    bad = {"dialog_id": "b", **bad} if isinstance(bad, dict) else bad
    lines = [json.dumps(value).replace("Infinity", "1e999") for value in (good[0], bad, good[1])]
    if array:
        text = "[\n" + ",\n".join(lines) + "\n]"
    else:
        text = "{\n" + ",\n".join(f'"{name}": {line}' for name, line in zip("abc", lines, strict=True)) + "\n}"
    path = put(tmp_path / "data.json", text)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:3 (record 1): ")
    assert len(caught.value.one_line()) < 400
    found, report = read(path, skip_bad=True)
    assert [record.dialogue.id for record in found] == ["a", "c"]
    assert (report.skipped["malformed records"].first or "").startswith("data.json:3 (record 1): ")


def test_ids_stand_once_and_arrays_need_them(tmp_path: Path) -> None:
    twice = f'{{"1": {json.dumps(BEANS)}, "1": {json.dumps(TOMATOES)}}}'
    with pytest.raises(InputError, match=r"1 \(record 1\): the id '1' stands here again"):
        read(put(tmp_path / "data.json", twice))
    with pytest.raises(InputError, match="there is no dialog_id, which a dialogue of an array needs"):
        read(put(tmp_path / "data.json", [BEANS]))
    with pytest.raises(InputError, match="the id is empty"):
        read(put(tmp_path / "data.json", {"": BEANS}))
    with pytest.raises(InputError, match=r"data\.json:1: is not a JSON array or object"):
        read(put(tmp_path / "data.json", "17\nuser\n"))
    with pytest.raises(InputError, match=r"expected a JSON file of MANtIS dialogues, or an annotation sheet"):
        read(put(tmp_path / "none" / "a.csv", "").parent)


def test_oddities_are_counted(tmp_path: Path) -> None:
    utterances = [
        said(1, "user", "<Placeholder Response>"),
        said(1, "user", " \n"),
        said(3, "agent", "", utterance_time="soon"),
    ]
    _, report = read(put(tmp_path / "data.json", {"0": dialogue(*utterances), "1": dialogue()}))
    assert {reason: finding.count for reason, finding in report.noted.items()} == {
        "utterances that are only a placeholder": 1,
        "empty utterances": 2,
        "utterances whose utterance_pos is not their place": 1,
        "times of an unknown form": 1,
        "dialogues without an utterance": 1,
    }


def test_duplicates_are_counted_or_left_out(tmp_path: Path) -> None:
    path = put(tmp_path / "data.json", {"0": BEANS, "1": TOMATOES, "2": BEANS})
    found, report = read(path)
    assert len(found) == 3
    assert report.noted["exact duplicates of another conversation"].count == 1
    assert [record.dialogue.id for record in read(path, drop_duplicates=True)[0]] == ["0", "1"]


def test_packed_sources_are_read_as_they_are(tmp_path: Path) -> None:
    data = json.dumps({"3": TOMATOES}).encode()
    plain, _ = read(put(tmp_path / "train.json", data.decode()))
    (tmp_path / "train.json.gz").write_bytes(gzip.compress(data))
    (tmp_path / "train.json.zst").write_bytes(pa.compress(data, "zstd", asbytes=True))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("mantis/train.json", data)
        archive.writestr("mantis/README.md", "nothing")
    assert read(tmp_path / "train.json.gz")[0] == plain
    assert read(tmp_path / "train.json.zst")[0] == plain
    assert read(tmp_path / "a.zip")[0] == plain
    (tmp_path / "sheet.txt.gz").write_bytes(gzip.compress(SHEET.encode()))
    assert len(read(tmp_path / "sheet.txt.gz")[0]) == 2


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
MOMENTS = st.none() | st.datetimes(timezones=st.just(UTC))
VALUES = st.none() | st.booleans() | st.integers(-3, 3) | TEXT | st.lists(st.integers(), max_size=1)
SPELLED = st.sampled_from(TIMES + ODD_TIMES)
LABELS = st.lists(st.sampled_from(["PA", "FD", "OQ", ""]), max_size=3)
LABELLED = (
    LABELS | st.none() | st.just("PA") | st.dictionaries(st.sampled_from(["a", ANNOTATOR, ""]), LABELS, max_size=2)
)


@st.composite
def spelled_dialogues(draw: st.DrawFn) -> dict[str, Any]:
    utterances = []
    for place in range(1, draw(st.integers(0, 3)) + 1):
        optional = {"votes": VALUES, "is_answer": VALUES, "id": VALUES, "utterance_time": SPELLED, "intent": LABELLED}
        more = draw(st.fixed_dictionaries({}, optional=optional | {"extra": VALUES, "number": VALUES}))
        who = draw(st.sampled_from(["user", "agent"]))
        utterances.append({"actor_type": who, "utterance_pos": place, "utterance": draw(TEXT), **more})
    optional = {"category": st.none() | TEXT, "title": st.none() | TEXT, "dialog_time": SPELLED}
    more = draw(
        st.fixed_dictionaries(
            {}, optional=optional | {"extra": VALUES, "number": VALUES, "key": VALUES, "file": VALUES}
        )
    )
    return {"utterances": utterances, **more}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    values=st.dictionaries(
        st.integers(-5, 20) | st.text(st.sampled_from("ab/."), min_size=1, max_size=3), spelled_dialogues(), max_size=3
    ),
    array=st.booleans(),
    inside=st.booleans(),
)
def test_any_file_comes_back(
    tmp_path_factory: pytest.TempPathFactory, values: dict[Any, Any], array: bool, inside: bool
) -> None:
    folder = tmp_path_factory.mktemp("mantis")
    value: Any = {str(key): ({"dialog_id": key} if inside else {}) | part for key, part in values.items()}
    if array:
        value = [{"dialog_id": key} | part for key, part in values.items()]
    records, _ = read(put(folder / "data.json", value))
    again, report = written(by_corpus(records, folder / "corpus"), folder / "again.json")
    # Of nothing there is nothing to tell whether it was a list.
    assert same_json(again, value or {})
    assert report.skipped == {}


@st.composite
def fitting(draw: st.DrawFn) -> Record:
    """A record of this model that the format can hold."""
    identifier = draw(st.text(st.characters(exclude_categories=["Cs", "Nd"]), min_size=1, max_size=5))
    utterances, notes = [], []
    for position in range(draw(st.integers(0, 3))):
        role = draw(st.sampled_from(["user", "agent"]))
        more = draw(st.dictionaries(st.sampled_from(["votes", "mood"]), VALUES))
        moment, own = draw(MOMENTS), draw(st.none() | TEXT)
        utterances.append(Utterance(position, 0, role, draw(TEXT), role, moment, own, more))  # type: ignore[arg-type]
        for annotator in draw(st.sets(st.sampled_from([ANNOTATOR, "you"]))):
            notes += [Annotation(identifier, LAYER, annotator, position, label=x) for x in draw(LABELS)]
    for utterance, turn in zip(utterances, number_turns([u.speaker for u in utterances]), strict=True):
        utterance.turn = turn
    split = draw(st.sampled_from([None, "train", "dev", "test"]))
    more = draw(st.dictionaries(st.sampled_from(["votes", "mood"]), VALUES))
    domain, title, moment = draw(st.none() | TEXT), draw(st.none() | TEXT), draw(MOMENTS)
    return Record(Dialogue(identifier, utterances, domain, split, title, moment, more), notes)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records=st.lists(fitting(), max_size=4, unique_by=lambda record: record.dialogue.id))
def test_any_corpus_that_fits_comes_back(tmp_path_factory: pytest.TempPathFactory, records: list[Record]) -> None:
    folder = tmp_path_factory.mktemp("mantis")
    splits = {record.dialogue.split for record in records}
    name = f"{splits.pop() or 'data'}.json" if len(splits) == 1 else "folder"
    report = write(records, folder / name)
    assert not report.skipped.keys() - {"splits, which the name of the file has to say"}
    found, _ = read(folder / name)
    again = {record.dialogue.id: record for record in found}
    assert again.keys() == {record.dialogue.id for record in records}
    for record in records:
        for utterance in again[record.dialogue.id].dialogue.utterances:
            utterance.attributes.pop("intent", None)
        assert again[record.dialogue.id].dialogue == record.dialogue
        assert sorted(again[record.dialogue.id].annotations, key=repr) == sorted(record.annotations, key=repr)


def test_damage_ends_in_a_corpus_or_one_error(tmp_path: Path) -> None:
    text = json.dumps(
        {"0": BEANS, "1": TOMATOES, "2": ODD["intents"]["0"], "3": ODD["times"]["4"]}, indent=1, ensure_ascii=False
    )
    sheet = "\n".join(SHEET.replace("17", str(n)).rstrip("\n") for n in range(5)) + "\n"
    for name, source in (("data.json", text), ("ann.txt", sheet)):
        found = mutate.outcomes(MantisFormat(), {name: source.encode()}, tmp_path, seed=13)
        assert sum(found.values()) == mutate.MUTATIONS
        assert min(found.values()) > mutate.MUTATIONS // 40, found
