"""The dialeval-submission format: a system's distributions come back to the last digit, people's labels become shares."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.corpus.exchange import Report
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.errors import InputError
from tertulia.formats.dialeval.format import DialEvalFormat
from tertulia.formats.dialeval.labels import NUGGETS, QUALITIES, SCALE
from tertulia.formats.dialeval.submission import (
    DialEvalSubmissionFormat,
    Submission,
    read_submission,
    write_submission,
)

from ..corpus.test_tables import records
from . import mutate
from .dialogues_of_helpdesks import KETTLE, PARCEL, SMALL, comparable, counts, put, read, through_a_corpus, write

FORMAT = DialEvalSubmissionFormat()
EVEN = {str(grade): 0.2 for grade in SCALE}
FIRST = {
    "id": "2",
    "quality": {"A": EVEN, "E": {"2": 0.125, "-2": 0.875}, "S": EVEN},
    "nugget": [{"CNUG0": 0.25, "CNUG": 0.25, "CNUG*": 0.25, "CNaN": 0.25}, {"HNUG": 0.1, "HNUG*": 0.2, "HNaN": 0.7}],
}
SECOND = {"id": "1", "nugget": [{"CNUG": 0.30000000000000004, "CNaN": 0.6}]}
THIRD = {"id": "3", "quality": {"S": {"0": 3}}}


def distribution(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, float]]:
    shares = st.floats(0, 1e6) | st.integers(0, 5) | st.just(1e-300)
    return st.dictionaries(st.sampled_from(names), shares, min_size=1).filter(lambda d: any(d.values()))


@st.composite
def predictions(draw: st.DrawFn) -> dict[str, Any]:
    value: dict[str, Any] = {"id": draw(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4))}
    which = draw(st.sampled_from(["nugget", "quality", "both"]))
    if which != "quality":
        side = st.sampled_from([*NUGGETS.values()]).flatmap(distribution)
        value["nugget"] = draw(st.lists(side, min_size=1, max_size=5))
    if which != "nugget":
        grades = distribution(tuple(str(grade) for grade in SCALE))
        value["quality"] = draw(st.dictionaries(st.sampled_from(QUALITIES), grades, min_size=1))
    return value


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=st.lists(predictions(), max_size=5, unique_by=lambda value: value["id"]))
def test_reading_then_writing_gives_the_same_json(
    tmp_path_factory: pytest.TempPathFactory, values: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("submission")
    found, _ = read(FORMAT, put(folder / "a.json", values))
    kept = through_a_corpus(found, folder / "c")
    assert write(FORMAT, kept, folder / "d.json").skipped == {}
    assert json.loads((folder / "d.json").read_text()) == values
    again, _ = read(FORMAT, folder / "d.json", values={"system": "a"})
    assert comparable(again) == comparable(kept)
    write_submission(folder / "e.json", read_submission(folder / "a.json"))
    assert (folder / "e.json").read_bytes() == (folder / "d.json").read_bytes()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(corpus=st.lists(records(), max_size=4, unique_by=lambda record: record.dialogue.id))
def test_any_corpus_is_written_as_something_that_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[Record]
) -> None:
    folder = tmp_path_factory.mktemp("submission")
    for record in corpus:
        for utterance in record.dialogue.utterances:
            utterance.role = utterance.role or ("user" if len(utterance.speaker) % 2 else "agent")
    report = write(FORMAT, corpus, folder / "a.json")
    found = list(read_submission(folder / "a.json"))
    without = sum(f.count for reason, f in report.skipped.items() if reason == "dialogues without labels")
    assert len(found) == len(corpus) - without


def test_a_prediction_is_a_dialogue_without_text(tmp_path: Path) -> None:
    found, report = read(FORMAT, put(tmp_path / "team-a.json", [FIRST, SECOND, THIRD]))
    assert found[0].dialogue == Dialogue(
        "2", [Utterance(0, 0, "customer", "", "user"), Utterance(1, 1, "helpdesk", "", "agent")]
    )
    assert found[0].annotations[0] == Annotation(
        "2", "nugget", "team-a", 0, label="CNUG0", value=0.25, attributes={"distribution": True}
    )
    assert found[1].annotations[0].value == 0.30000000000000004
    assert found[2].annotations == [
        Annotation("3", "quality.S", "team-a", label="0", value=3.0, attributes={"distribution": True})
    ]
    assert found[2].dialogue.utterances == []
    assert counts(report.noted) == {"distributions that do not sum to one (scorers normalise them)": 2}


def test_the_functions_give_what_the_scorers_need(tmp_path: Path) -> None:
    report = Report()
    first, second, third = read_submission(put(tmp_path / "a.json", [FIRST, SECOND, THIRD]), report)
    assert first == Submission(
        "2",
        FIRST["nugget"],
        {"A": dict.fromkeys(SCALE, 0.2), "E": {2: 0.125, -2: 0.875}, "S": dict.fromkeys(SCALE, 0.2)},
    )  # type: ignore[arg-type]
    assert first.senders == ["customer", "helpdesk"]
    assert (second.quality, third.nugget, third.senders) == ({}, None, [])
    assert report.noted["distributions that do not sum to one (scorers normalise them)"].count == 2
    with pytest.raises(InputError, match="exists already"):
        write_submission(tmp_path / "a.json", [first])


@pytest.mark.parametrize(
    ("submission", "message"),
    [
        (Submission("x", [{"CNUG": -1.0}], {}), "dialogue 'x': the nugget of turn 0 has the probability -1.0"),
        (Submission("x", [{"CNUG": 0.5, "HNUG": 0.5}], {}), 'the nugget of turn 0 has the type "HNUG"'),
        (Submission("x", [{}], {}), "the nugget of turn 0 holds an object; expected an object of probabilities"),
        (Submission("x", None, {"A": {3: 1.0}}), 'the quality A has the grade "3"'),
        (Submission("x", None, {"A": {2: float("nan")}}), 'the quality A has the probability nan for "2"'),
        (Submission("x", None, {"B": {2: 1.0}}), 'quality has "B"; expected A, S and E'),
        (Submission("x", None, {}), "has neither nugget nor quality"),
    ],
)
def test_what_a_reader_would_refuse_is_not_written(tmp_path: Path, submission: Submission, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        write_submission(tmp_path / "a.json", [submission])


def shares(value: dict[str, Any]) -> dict[str, Any]:
    """The plain definition of a gold submission: of each label, how many of the annotators gave it."""
    notes = value["annotations"]
    nuggets = [Counter(note["nugget"][turn] for note in notes) for turn in range(len(notes[0]["nugget"]))]
    senders = value.get("senders") or [turn["sender"] for turn in value["turns"]]
    return {
        "id": value["id"],
        "nugget": [
            {label: counted[label] / len(notes) for label in NUGGETS[sender]}
            for counted, sender in zip(nuggets, senders, strict=True)
        ],
        "quality": {
            quality: {str(grade): sum(n["quality"][quality] == grade for n in notes) / len(notes) for grade in SCALE}
            for quality in QUALITIES
        },
    }


def test_people_become_the_shares_of_their_labels(tmp_path: Path) -> None:
    found, _ = read(DialEvalFormat(), put(tmp_path / "a.json", SMALL))
    report = write(FORMAT, found, tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text()) == [shares(KETTLE), shares(PARCEL)]
    assert counts(report.noted) == {"dialogues whose labels are written as the shares of their annotators": 2}
    assert report.skipped["dialogues without labels"].count == 1
    assert report.skipped["texts of utterances, which this format does not hold"].count == 7


def test_a_turn_that_nobody_labelled_leaves_its_dialogue_without_nuggets(tmp_path: Path) -> None:
    partly = PARCEL | {"annotations": [{"nugget": ["CNUG", None], "quality": {"A": 1}}]}
    found, _ = read(DialEvalFormat(), put(tmp_path / "a.json", [partly]))
    report = write(FORMAT, found, tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text()) == [
        {"id": "1", "quality": {"A": dict(zip(EVEN, [0, 1, 0, 0, 0], strict=True))}}
    ]
    assert report.skipped["nuggets of dialogues in which a turn has none"].count == 1


def predicted(identifier: str, *systems: str) -> Record:
    return Record(
        Dialogue(identifier, [Utterance(0, 0, "customer", "", "user")]),
        [
            Annotation(identifier, "nugget", system, 0, label="CNUG", value=1.0, attributes={"distribution": True})
            for system in systems
        ],
    )


def test_a_systems_distributions_are_written_in_the_place_of_peoples_labels(tmp_path: Path) -> None:
    record = predicted("a", "robot")
    record.annotations.append(Annotation("a", "nugget", "ann", 0, label="CNaN"))
    record.annotations.append(
        Annotation("a", "nugget", "robot", 0, label="HNUG", value=1.0, attributes={"distribution": True})
    )
    report = write(FORMAT, [record, Record(Dialogue("b", []))], tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text()) == [{"id": "a", "nugget": [{"CNUG": 1.0}]}]
    assert counts(report.skipped) == {
        "annotations that are not of this submission, which this format does not hold": 1,
        "annotations other than nuggets of a turn and grades of a quality, which this format does not hold": 1,
        "dialogues without labels": 1,
    }


def test_a_submission_is_of_one_system(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="dialogue 'a': there are distributions of the systems 'one' and 'two'"):
        write(FORMAT, [predicted("a", "one", "two")], tmp_path / "a.json")
    with pytest.raises(InputError, match="dialogue 'b': there are distributions of the systems 'one' and 'two'"):
        write(FORMAT, [predicted("a", "one"), predicted("b", "two")], tmp_path / "b.json")
    with pytest.raises(
        InputError, match="dialogue 'b' has distributions of the system 'one', those before it have none"
    ):
        write(FORMAT, [predicted("a"), predicted("b", "one")], tmp_path / "c.json")
    wrong = predicted("a", "one")
    wrong.annotations[0].value = 0.0
    with pytest.raises(InputError, match="dialogue 'a': the nugget of turn 0 has no probability above 0"):
        write(FORMAT, [wrong], tmp_path / "d.json")


BAD: list[tuple[Any, str]] = [
    (5, "holds 5; expected an object with id, nugget and quality"),
    ({"id": 5}, "id holds 5; expected a text"),
    ({"id": ""}, "the id is empty"),
    ({"id": "x"}, "has neither nugget nor quality"),
    (FIRST, "the id '2' stands here again"),
    ({"id": "x", "turns": []}, 'has the unknown field "turns"; expected id, nugget and quality'),
    ({"id": "x", "nugget": {}}, "nugget holds an object; expected a list of distributions, one a turn"),
    ({"id": "x", "nugget": []}, "nugget is empty; expected one distribution a turn"),
    ({"id": "x", "nugget": [{}]}, "the nugget of turn 0 holds an object; expected an object of probabilities"),
    ({"id": "x", "nugget": [{"CNUG": 1}, {"NUG": 1}]}, 'the nugget of turn 1 has the type "NUG"'),
    ({"id": "x", "nugget": [{"CNUG": None}]}, 'the nugget of turn 0 has the probability null for "CNUG"'),
    ({"id": "x", "nugget": [{"CNUG": True}]}, "the probability true"),
    ({"id": "x", "nugget": [{"CNUG": "1"}]}, 'the probability "1"'),
    ({"id": "x", "nugget": [{"CNUG": -0.1}]}, "the probability -0.1"),
    ('{"id": "x", "nugget": [{"CNUG": 1e999}]}', "the probability inf"),
    ({"id": "x", "nugget": [{"CNUG": 10**400}]}, "the probability 1000"),
    ({"id": "x", "nugget": [{"CNUG": 0, "CNaN": 0.0}]}, "the nugget of turn 0 has no probability above 0"),
    ({"id": "x", "quality": []}, "quality holds a list; expected an object with A, S and E"),
    ({"id": "x", "quality": {"A": {"3": 1}}}, 'the quality A has the grade "3"; expected 2, 1, 0, -1 and -2'),
    ({"id": "x", "quality": {"A": [1]}}, "the quality A holds a list; expected an object of probabilities"),
    ({"id": "x", "quality": {"a": {"2": 1}}}, 'quality has "a"; expected A, S and E'),
]


@pytest.mark.parametrize(("bad", "message"), BAD, ids=[message for _, message in BAD])
def test_a_bad_prediction_is_one_error_or_skipped_and_counted(tmp_path: Path, bad: Any, message: str) -> None:
    raw = bad if isinstance(bad, str) else json.dumps(bad)
    path = put(tmp_path / "a.json", f"[{json.dumps(FIRST)},\n{raw},\n{json.dumps(SECOND)}]")
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read(FORMAT, path)
    assert str(caught.value).startswith(f"{path}:2 (record 1): ")
    assert len(caught.value.one_line()) < 400
    found, report = read(FORMAT, path, skip_bad=True)
    assert [record.dialogue.id for record in found] == ["2", "1"]
    assert report.skipped["malformed records"].count == 1


def test_a_source_is_one_file(tmp_path: Path) -> None:
    put(tmp_path / "a.json", [FIRST])
    assert len(read(FORMAT, tmp_path)[0]) == 1
    put(tmp_path / "b.json", {"a": 1})
    with pytest.raises(InputError, match="holds 2 JSON files; expected one submission"):
        read(FORMAT, tmp_path)
    with pytest.raises(InputError, match="holds an object; expected a list of predictions"):
        read(FORMAT, tmp_path / "b.json")


def test_damage_ends_in_a_corpus_or_one_error(tmp_path: Path) -> None:
    text = json.dumps([FIRST, SECOND, THIRD, FIRST | {"id": "4"}], indent=1)
    found = mutate.outcomes(FORMAT, {"a.json": text.encode()}, tmp_path, seed=8)
    assert sum(found.values()) == mutate.MUTATIONS
    # Almost all of it is numbers and names that must hold.
    assert min(found.values()) > mutate.MUTATIONS // 50, found


@pytest.mark.data
@pytest.mark.parametrize(("name", "off"), [("uniform", 0), ("widm_181120", 1_755)])
def test_the_given_submissions_come_back_to_the_last_digit(data: Path, tmp_path: Path, name: str, off: int) -> None:
    source = data / "dialeval" / f"{name}.json"
    found, report = read(FORMAT, source)
    assert len(found) == 390
    assert {note.annotator for record in found for note in record.annotations} == {name}
    assert sum(counts(report.noted).values()) == off
    assert write(FORMAT, through_a_corpus(found, tmp_path / "c"), tmp_path / "a.json").skipped == {}
    assert json.loads((tmp_path / "a.json").read_text()) == json.loads(source.read_text())


@pytest.mark.data
def test_the_published_labels_become_shares_of_nineteen(data: Path, tmp_path: Path) -> None:
    source = data / "dialeval" / "labels_only_ccby4.json"
    some = [value for value in json.loads(source.read_text()) if value["split"] == "dev"]
    found, _ = read(DialEvalFormat(), put(tmp_path / "a.json", some))
    write(FORMAT, found, tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text()) == [shares(value) for value in some]
