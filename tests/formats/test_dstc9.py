"""The dstc9 format: dialogues with systems in one string each, and what each rater says of the whole."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.dstc9 import Dstc9Format

from . import mutate
from .ranking import counts

FORMAT = Dstc9Format()
TALK = "User: hello\nSystem: hi, seen a heron?\nUser: \nSystem: \n they stand in the pond \n"
RATED = {"context": TALK, "human (overall)": 4, "topic depth": 2, "coherent": "N/A"}


def read(source: Path, **options: Any) -> tuple[list[Record], Report]:
    report = Report()
    return list(FORMAT.read(str(source), report, ReadOptions(**options))), report


def put(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_what_follows_on_one_dialogue_is_said_by_several_people(tmp_path: Path) -> None:
    other = {"context": "System: yes?\n", "human (overall)": 1.5}
    found, report = read(put(tmp_path / "parrot.json", [RATED, RATED | {"human (overall)": 5}, other]))
    assert found[0] == Record(
        Dialogue(
            "parrot-00001",
            [
                Utterance(0, 0, "User", "hello", "user"),
                Utterance(1, 1, "System", "hi, seen a heron?", "agent"),
                Utterance(2, 2, "User", "", "user"),
                Utterance(3, 3, "System", "they stand in the pond", "agent"),
            ],
            attributes={"system": "parrot"},
        ),
        [
            Annotation("parrot-00001", "rating.overall", "human-1", value=4.0),
            Annotation("parrot-00001", "rating.topic_depth", "human-1", value=2.0),
            Annotation("parrot-00001", "rating.overall", "human-2", value=5.0),
            Annotation("parrot-00001", "rating.topic_depth", "human-2", value=2.0),
        ],
    )
    assert [record.dialogue.id for record in found] == ["parrot-00001", "parrot-00002"]
    assert counts(report) == {
        "answers that are N/A": 2,
        "elements read, each what one person says of a dialogue": 3,
        "utterances without text": 1,
    }


def test_lines_that_go_on(tmp_path: Path) -> None:
    talk = "User: one\ntwo: three\n\nfour\nSystem: five\nSystem: six\nUser:seven"
    [found], report = read(put(tmp_path / "a.json", [{"context": talk, "likeable": 3}]))
    assert [(u.speaker, u.turn, u.text) for u in found.dialogue.utterances] == [
        ("User", 0, "one\ntwo: three\n\nfour"),
        ("System", 1, "five"),
        ("System", 1, "six"),
        ("User", 2, "seven"),
    ]
    assert counts(report)["utterances of several lines"] == 1


def test_a_folder_of_systems_and_duplicates(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        put(tmp_path / name, [RATED])
    found, report = read(tmp_path)
    assert [record.dialogue.attributes["system"] for record in found] == ["a", "b"]
    assert counts(report)["exact duplicates of another conversation"] == 1
    assert len(read(tmp_path, drop_duplicates=True)[0]) == 1
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(tmp_path / "a.json", "talks/a.json")
        archive.write(tmp_path / "b.json", "talks/b.json")
    assert [record.dialogue.id for record in read(tmp_path / "all.zip")[0]] == ["talks/a-00001", "talks/b-00001"]


said = st.lists(
    st.tuples(st.sampled_from(["User", "System"]), st.text().filter(lambda t: "\n" not in t).map(str.strip)), min_size=1
)


@settings(max_examples=150, deadline=None)
@given(turns=said)
def test_any_turns_come_out_of_one_string(
    tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[str, str]]
) -> None:
    talk = "".join(f"{speaker}: {text}\n" for speaker, text in turns)
    [found], _ = read(put(tmp_path_factory.mktemp("d") / "a.json", [{"context": talk}]))
    assert [(u.speaker, u.text) for u in found.dialogue.utterances] == turns


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("User: hi", 'holds "User: hi"; expected an object with context and ratings'),
        ({"likeable": 3}, "context holds null; expected a text"),
        ({"context": "Bot: hi"}, """context begins with "Bot: hi"; expected 'User: ' or 'System: '"""),
        ({"context": TALK, "likeable": "yes"}, 'likeable holds "yes"; expected a finite number'),
        ({"context": TALK, "likeable": None}, "likeable holds null; expected a number or N/A"),
        ({"context": TALK, "likeable": [3]}, "likeable holds a list; expected a finite number"),
        ({"context": TALK, "likeable": True}, "likeable holds true; expected a finite number"),
        ({"context": "User: \ud800"}, "half of a surrogate pair"),
    ],
)
def test_what_does_not_hold_is_named(tmp_path: Path, value: Any, problem: str) -> None:
    path = put(tmp_path / "a.json", [RATED, value])
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.where == f"{path}:1 (record 1)"
    assert problem in caught.value.message
    found, report = read(path, skip_bad=True)
    assert (len(found), counts(report)["malformed records"]) == (1, 1)


def test_an_empty_list_and_a_dialogue_without_a_turn(tmp_path: Path) -> None:
    assert read(put(tmp_path / "a.json", []))[0] == []
    [found], report = read(put(tmp_path / "a.json", [{"context": "\n", "likeable": 1}]))
    assert found.dialogue.utterances == []
    assert counts(report)["dialogues without a turn"] == 1


def test_it_is_only_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="read, not written"):
        FORMAT.write(iter([]), str(tmp_path / "x"), Report())


def test_damage_ends_in_a_corpus_or_one_error(tmp_path: Path) -> None:
    files = {
        "a.json": json.dumps([RATED, RATED | {"context": "User: naïve 🎉\n"}], ensure_ascii=False).encode(),
        "b.json": json.dumps([RATED, RATED], indent=1).encode(),
    }
    found = mutate.outcomes(FORMAT, files, tmp_path, seed=6)
    assert sum(found.values()) == mutate.MUTATIONS
    assert min(found.values()) > mutate.MUTATIONS // 20, found


@pytest.mark.data
def test_the_released_dialogues(data: Path) -> None:
    source = data / "rated_responses" / "dstc9"
    if not source.is_dir():
        pytest.skip(f"the rated dialogues are not at {source}")
    found, report = read(source)
    systems = [record.dialogue.attributes["system"] for record in found]
    assert (len(found), len(set(systems)), {systems.count(system) for system in systems}) == (2_200, 11, {200})
    assert sum(len(record.dialogue.utterances) for record in found) == 62_342
    assert counts(report) == {
        "answers that are N/A": 236,
        "elements read, each what one person says of a dialogue": 6_473,
        "utterances without text": 371,
        "utterances of several lines": 6,
    }
    assert sum(len(record.annotations) for record in found) == 6_473 * 11 - 236
