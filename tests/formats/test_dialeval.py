"""The dialeval format: every annotator kept, empty turns told apart, translations and labels joined by id."""

import gzip
import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.errors import InputError
from tertulia.formats.dialeval.format import DialEvalFormat
from tertulia.formats.dialeval.labels import NUGGETS, SCALE

from ..corpus.test_tables import records
from . import mutate
from .dialogues_of_helpdesks import (
    KETTLE,
    PARCEL,
    SMALL,
    UNLABELLED,
    comparable,
    counts,
    put,
    says,
    through_a_corpus,
    turn,
)
from .dialogues_of_helpdesks import read as read_with
from .dialogues_of_helpdesks import write as write_with

FORMAT = DialEvalFormat()


def read(source: Path, **options: Any) -> Any:
    return read_with(FORMAT, source, **options)


def written(found: list[Record], path: Path) -> Any:
    report = write_with(FORMAT, found, path)
    assert report.skipped == {}
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_row_is_an_utterance_and_a_silent_turn_is_one_row(tmp_path: Path) -> None:
    [kettle, parcel, unlabelled], _ = read(put(tmp_path / "a.json", SMALL))
    assert kettle.dialogue.utterances == [
        Utterance(0, 0, "customer", "My kettle whistles all night.", "user"),
        Utterance(1, 0, "customer", "", "user"),
        Utterance(2, 0, "customer", "Even unplugged!", "user"),
        Utterance(3, 1, "helpdesk", "Have you tried taking the lid off?", "agent"),
        Utterance(4, 2, "customer", "", "user", attributes={"utterances": 2}),
        Utterance(5, 3, "helpdesk", "Glad to hear that.", "agent"),
    ]
    assert parcel.dialogue.utterances[1] == Utterance(1, 1, "helpdesk", "", "agent", attributes={"utterances": 0})
    assert unlabelled.dialogue.utterances[0] == Utterance(0, 0, "customer", "", "user")
    assert unlabelled.annotations == []
    assert parcel.dialogue.texts[0] == "Where is my \u200bparcel?"


def test_every_annotator_is_kept_with_a_nugget_on_each_turn_and_three_grades(tmp_path: Path) -> None:
    [kettle, parcel, _], _ = read(put(tmp_path / "a.json", SMALL))
    first = [note for note in kettle.annotations if note.annotator == "annotator-01"]
    assert first == [
        Annotation("3", "nugget", "annotator-01", 0, label="CNUG0"),
        Annotation("3", "nugget", "annotator-01", 3, label="HNUG*"),
        Annotation("3", "nugget", "annotator-01", 4, label="CNUG*"),
        Annotation("3", "nugget", "annotator-01", 5, label="HNaN"),
        Annotation("3", "quality.A", "annotator-01", value=2.0),
        Annotation("3", "quality.S", "annotator-01", value=1.0),
        Annotation("3", "quality.E", "annotator-01", value=2.0),
    ]
    assert {note.annotator for note in parcel.annotations} == {"annotator-01", "annotator-02", "annotator-03"}


def test_what_is_odd_is_counted_and_kept(tmp_path: Path) -> None:
    several = PARCEL | {
        "id": "9",
        "turns": [turn("helpdesk", "Yes?"), turn("customer", "a"), turn("customer", "b")],
        "annotations": [says(["HNUG*", "CNUG0", "CNUG0"]), says(["HNaN", "CNUG*", "CNUG*"])],
    }
    found, report = read(put(tmp_path / "a.json", [*SMALL, several]))
    assert len(found) == 4
    assert report.skipped == {}
    assert counts(report.noted) == {
        "annotators' records of a dialogue's nuggets": 7,
        "annotators' records without a trigger (CNUG0)": 3,
        "annotators' records with several triggers (CNUG0)": 1,
        "annotators' records with several customer goals (CNUG*)": 1,
        "dialogues that the helpdesk opens": 1,
        "turns of the sender of the turn before": 1,
        "turns without text": 3,
        "empty utterances in turns with text": 1,
        "utterances with zero-width characters": 1,
        "dialogues without annotations": 1,
    }


def test_labels_without_text_are_dialogues_without_text(tmp_path: Path) -> None:
    labels = [
        {"id": "7", "split": "dev", "senders": ["customer", "helpdesk"], "annotations": [says(["CNUG0", "HNUG"], 1)]},
        {"id": "5", "split": "train", "senders": ["customer"], "annotations": [says(["CNaN"])]},
    ]
    found, report = read(put(tmp_path / "a.json", labels), drop_duplicates=True)
    assert [(r.dialogue.id, r.dialogue.split, r.dialogue.texts) for r in found] == [
        ("7", "dev", ["", ""]),
        ("5", "train", [""]),
    ]
    assert counts(report.noted)["dialogues without text (labels only)"] == 2
    assert written(found, tmp_path / "b.json") == labels
    assert written(through_a_corpus(found, tmp_path / "c"), tmp_path / "d.json") == labels


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
TEXTS = st.sampled_from(["", "", "hello", "您好", "\u200b", " ", "a\tb\nc", '"\\']) | NAMES
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def turns(draw: st.DrawFn, sender: str) -> dict[str, Any]:
    said = draw(st.lists(TEXTS, max_size=4))
    value: dict[str, Any] = {"sender": sender, "utterances": said}
    rows = len(said) if any(said) else 1
    if draw(st.booleans()):
        # The forms in which a translation is written: one a row, or one of the turn.
        pieces: list[str | None] = draw(st.lists(st.none() | TEXTS, min_size=rows, max_size=rows))
        if rows == 1 or all(piece is None for piece in pieces[1:]):
            pieces = [draw(TEXTS)]
        value["english"] = pieces
    return value


@st.composite
def annotations(draw: st.DrawFn, senders: list[str]) -> list[dict[str, Any]]:
    number = draw(st.integers(0, 12))
    named = draw(st.booleans())
    names = draw(
        st.lists(
            NAMES | st.sampled_from(["annotator-01", "annotator-2"]), min_size=number, max_size=number, unique=True
        )
    )
    result = []
    for name in names:
        item: dict[str, Any] = {"annotator": name} if named else {}
        if draw(st.booleans()):
            labels = [draw(st.none() | st.sampled_from(NUGGETS[sender])) for sender in senders]
            labels[0] = draw(st.sampled_from(NUGGETS[senders[0]]))
            item["nugget"] = labels
        if "nugget" not in item or draw(st.booleans()):
            item["quality"] = draw(st.dictionaries(st.sampled_from("ASE"), st.sampled_from(SCALE), min_size=1))
        result.append(item)
    return result


@st.composite
def dialogues(draw: st.DrawFn) -> dict[str, Any]:
    senders = draw(st.lists(st.sampled_from(["customer", "helpdesk"]), min_size=1, max_size=5))
    value: dict[str, Any] = {"id": draw(NAMES)}
    if draw(st.integers(0, 3)):
        value["turns"] = [draw(turns(sender)) for sender in senders]
    else:
        value["senders"] = senders
    if draw(st.booleans()):
        value["annotations"] = draw(annotations(senders))
    if draw(st.booleans()):
        value["split"] = draw(NAMES)
    names = st.sampled_from(["number", "extra", "dialeval", "english", "domain", "file"]) | NAMES
    own = {"id", "turns", "senders", "annotations", "split"}
    return draw(st.dictionaries(names.filter(lambda name: name not in own), JSON, max_size=3)) | value


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=st.lists(dialogues(), max_size=5, unique_by=lambda value: value["id"]))
def test_reading_then_writing_gives_the_same_json(
    tmp_path_factory: pytest.TempPathFactory, values: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("dialeval")
    found, _ = read(put(folder / "a.json", values))
    assert written(found, folder / "b.json") == values
    kept = through_a_corpus(found, folder / "c")
    assert written(kept, folder / "d.json") == values
    again, _ = read(folder / "d.json")
    assert comparable(again) == comparable(kept)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(corpus=st.lists(records(), max_size=4, unique_by=lambda record: record.dialogue.id))
def test_any_corpus_is_written_as_something_that_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[Record]
) -> None:
    folder = tmp_path_factory.mktemp("dialeval")
    corpus = [record for record in corpus if record.dialogue.id]
    # More than two sides without a role do not fit, and are an error.
    for record in corpus:
        for utterance in record.dialogue.utterances:
            utterance.role = utterance.role or ("user" if len(utterance.speaker) % 2 else "agent")
    report = write_with(FORMAT, corpus, folder / "a.json")
    found, _ = read(folder / "a.json")
    assert sorted(record.dialogue.id for record in found) == sorted(record.dialogue.id for record in corpus)
    notes = sum(len(record.annotations) for record in corpus)
    lost = sum(finding.count for reason, finding in report.skipped.items() if reason.startswith("annotations"))
    assert sum(len(record.annotations) for record in found) == notes - lost


def test_the_order_of_a_sorted_file_leaves_no_trace(tmp_path: Path) -> None:
    found, _ = read(put(tmp_path / "a.json", [UNLABELLED, KETTLE]))
    assert [record.dialogue.attributes for record in found] == [{}, {}]
    found, _ = read(put(tmp_path / "b.json", [KETTLE, PARCEL, UNLABELLED | {"id": "9"}]))
    assert [record.dialogue.attributes for record in found] == [{}, {"number": 1}, {"number": 2}]


ENGLISH = [
    PARCEL | {"turns": [turn("customer", "parcel, where?"), turn("helpdesk")]},
    KETTLE
    | {
        "turns": [
            turn("customer", "It whistles.", "It does."),
            turn("helpdesk", "The lid?"),
            turn("customer", "", ""),
            turn("helpdesk", "Glad."),
        ],
        "annotations": [says(["CNaN", "HNaN", "CNaN", "HNaN"])],
    },
    {"id": "77", "turns": [turn("customer", "nobody's")]},
]


def test_translations_are_joined_by_id(tmp_path: Path) -> None:
    other = put(tmp_path / "t.json", ENGLISH)
    found, report = read(put(tmp_path / "a.json", SMALL), values={"english": str(other)})
    kettle, parcel, unlabelled = (record.dialogue for record in found)
    assert [u.attributes.get("english") for u in parcel.utterances] == ["parcel, where?", ""]
    # Three utterances and two of the translation: it stands whole beside the first.
    assert [u.attributes.get("english") for u in kettle.utterances] == [
        "It whistles.\nIt does.",
        None,
        None,
        "The lid?",
        "",
        "Glad.",
    ]
    assert [u.attributes for u in unlabelled.utterances] == [{}, {}, {}]
    assert counts(report.skipped) == {"translations of dialogues that are not there": 1}
    noted = counts(report.noted)
    assert noted["dialogues without a translation"] == 1
    assert noted["translations with other annotations; those of the dialogue stay"] == 1
    assert noted["turns with another number of utterances in translation"] == 1
    assert kettle.texts[0] == "My kettle whistles all night."
    write_with(FORMAT, found, tmp_path / "b.json")
    again, _ = read(tmp_path / "b.json")
    assert comparable(again) == comparable(found)


def test_a_translation_with_other_turns_is_left_out(tmp_path: Path) -> None:
    other = put(tmp_path / "t.json", [{"id": "3", "turns": [turn("customer", "?")]}])
    found, report = read(put(tmp_path / "a.json", [KETTLE]), values={"english": str(other)})
    assert counts(report.skipped) == {"translations whose turns are not those of the dialogue": 1}
    assert not any("english" in u.attributes for u in found[0].dialogue.utterances)


def test_a_folder_holds_both_languages_and_the_splits_in_its_names(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    put(folder / "train_data_cn.json", [KETTLE, PARCEL])
    put(folder / "test_data_cn.json", [UNLABELLED])
    put(folder / "train_data_en.json", ENGLISH[:2])
    put(folder / "submission.json", [{"id": "2", "nugget": [{"CNUG": 1}]}])
    put(folder / "about.json", {"name": "dialogues"})
    put(folder / "readme.txt", "no JSON")
    found, report = read(folder)
    assert {r.dialogue.id: r.dialogue.split for r in found} == {"1": "train", "2": "test", "3": "train"}
    assert counts(report.skipped) == {"files that are no lists of dialogues": 2}
    assert counts(report.noted)["dialogues without a translation"] == 1
    archive = tmp_path / "data.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(folder.iterdir()):
            packed.write(path, f"data/{path.name}")
    assert comparable(read(archive)[0]) == comparable(found)


def test_each_language_alone_is_a_corpus(tmp_path: Path) -> None:
    path = put(tmp_path / "train_data_en.json", ENGLISH)
    found, report = read(path)
    assert len(found) == 3
    assert "dialogues without a translation" not in report.noted
    assert {r.dialogue.split for r in found} == {None}
    assert {r.dialogue.split for r in read(path, values={"split": "train"})[0]} == {"train"}
    with pytest.raises(InputError, match="names no split"):
        read(path, values={"split": " "})


def test_labels_are_joined_to_dialogues_that_have_none(tmp_path: Path) -> None:
    labels = [
        {"id": "2", "split": "dev", "senders": ["customer", "helpdesk"], "annotations": [says(["CNUG0", "HNUG"], 1)]},
        {"id": "1", "senders": ["customer", "helpdesk"], "annotations": [says(["CNUG0", "HNUG"], 1)]},
        {"id": "88", "senders": ["customer"], "annotations": [says(["CNaN"])]},
    ]
    other = put(tmp_path / "labels.json", labels)
    found, report = read(put(tmp_path / "a.json", SMALL), values={"labels": str(other), "split": "test"})
    by_id = {record.dialogue.id: record for record in found}
    assert by_id["2"].dialogue.split == "dev"
    assert by_id["3"].dialogue.split == "test"
    assert [note.label for note in by_id["2"].annotations if note.layer == "nugget"] == ["CNUG0", "HNUG"]
    assert len(by_id["1"].annotations) == 15
    assert counts(report.skipped) == {"labels of dialogues that are not there": 1}
    assert counts(report.noted)["labels that differ from the dialogue's own, which stay"] == 1
    assert counts(report.noted)["dialogues without labels in the file of labels"] == 1
    other = put(tmp_path / "labels.json", [labels[0] | {"senders": ["customer"], "annotations": [says(["CNaN"])]}])
    _, report = read(put(tmp_path / "a.json", SMALL), values={"labels": str(other)})
    assert counts(report.skipped) == {"labels whose turns are not those of the dialogue": 1}
    with pytest.raises(InputError, match=r"a\.json:1 \(record 2\): has no annotations; expected labels"):
        read(tmp_path / "a.json", values={"labels": str(tmp_path / "a.json")})


def changed(**changes: Any) -> dict[str, Any]:
    return PARCEL | {"id": "x"} | changes


def labelled(item: Any) -> dict[str, Any]:
    return changed(annotations=[item])


BAD: list[tuple[Any, str]] = [
    (5, "holds 5; expected an object with id and turns"),
    ({"id": "x"}, "has no turns; expected an object with id and turns"),
    ({"turns": []}, "id holds null; expected a text"),
    (changed(id=5), "id holds 5; expected a text"),
    (changed(id=""), "the id is empty"),
    (changed(id="3"), "the id '3' stands here again"),
    (changed(senders=[]), "has both turns and senders"),
    ({"id": "x", "nugget": [], "quality": {}}, "is a prediction, not a dialogue: it has no turns"),
    ({"id": "x", "senders": [1]}, "senders holds a list; expected a list of texts"),
    (changed(turns={}), "turns holds an object; expected a list of objects"),
    (changed(turns=[{"sender": "boss", "utterances": []}]), 'turn 0 is sent by "boss"; expected customer or helpdesk'),
    (changed(turns=[{"sender": "customer"}]), "utterances holds null; expected a list of texts"),
    (changed(turns=[{"utterances": []}]), "sender holds null; expected a text"),
    (changed(turns=[turn("customer") | {"mood": 1}]), 'turn 0 has the unknown field "mood"'),
    (changed(turns=[turn("customer") | {"english": "no"}]), 'english holds "no"; expected a list of texts'),
    (changed(turns=[turn("customer") | {"english": [1]}]), "english holds 1; expected a text"),
    ('{"id": "x", "turns": [{"sender": "customer", "utterances": ["\\ud800"]}]}', "half of a surrogate pair"),
    ('{"id": "x", "turns": [], "more": "\\ud800"}', "half of a surrogate pair"),
    (changed(split=5), "split holds 5; expected a text"),
    (changed(annotations={}), "annotations holds an object; expected a list"),
    (labelled({}), "annotator-01 says nothing; expected nugget and quality"),
    (labelled({"nuggets": []}), 'annotator-01 has the unknown field "nuggets"'),
    (labelled({"nugget": "CNUG"}), 'the nuggets of annotator-01 hold "CNUG"; expected a list'),
    (labelled({"nugget": ["CNUG"]}), "annotator-01 has 1 nuggets; expected one for each of the 2 turns"),
    (labelled({"nugget": ["HNUG", "HNUG"]}), 'the nugget "HNUG" on turn 0 of the customer; expected one of CNUG0'),
    (labelled({"nugget": ["CNUG", 5]}), "the nugget 5 on turn 1 of the helpdesk; expected one of HNUG"),
    (labelled({"nugget": ["CNUG", []]}), "the nugget a list on turn 1"),
    (labelled({"nugget": [None, None]}), "annotator-01 has no nugget on any turn"),
    (labelled({"quality": {}}), "the quality of annotator-01 holds an object; expected an object with A, S and E"),
    (labelled({"quality": [1]}), "the quality of annotator-01 holds a list"),
    (labelled({"quality": {"B": 1}}), 'annotator-01 has the quality "B"; expected A, S and E'),
    (labelled({"quality": {"A": 3}}), "annotator-01 has 3 for A; expected one of 2, 1, 0, -1, -2"),
    (labelled({"quality": {"A": True}}), "annotator-01 has true for A"),
    (labelled({"quality": {"A": 1.0}}), "annotator-01 has 1.0 for A"),
    (labelled({"quality": {"A": "1"}}), 'annotator-01 has "1" for A'),
    (labelled({"quality": {"A": 1}, "annotator": 5}), "annotator holds 5; expected a text"),
    (changed(annotations=[{"quality": {"A": 1}, "annotator": "ann"}] * 2), 'the annotator "ann" stands here twice'),
    (
        changed(annotations=[{"quality": {"A": 1}, "annotator": "ann"}, {"quality": {"A": 1}}]),
        "some annotations name their annotator and some do not",
    ),
]


@pytest.mark.parametrize(("bad", "message"), BAD, ids=[message for _, message in BAD])
def test_a_bad_dialogue_is_one_error_or_skipped_and_counted(tmp_path: Path, bad: Any, message: str) -> None:
    raw = bad if isinstance(bad, str) else json.dumps(bad)
    path = put(tmp_path / "a.json", f"[{json.dumps(KETTLE)},\n{raw},\n{json.dumps(UNLABELLED)}]")
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:2 (record 1): ")
    assert len(caught.value.one_line()) < 400
    found, report = read(path, skip_bad=True)
    assert [record.dialogue.id for record in found] == ["3", "2"]
    assert report.skipped["malformed records"].count == 1
    assert (report.skipped["malformed records"].first or "").startswith("a.json:2 (record 1): ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a JSON array or object"),
        ("{}", None),
        ("[]", None),
        ('{"a": 1}', "holds an object; expected a list of dialogues"),
        ("[" + json.dumps(KETTLE)[:50], "ends in the middle of record 0"),
        ('[{"id": NaN}]', "NaN is not a JSON number"),
        ("nonsense", "is not a JSON array or object"),
    ],
)
def test_a_file_that_is_no_list_of_dialogues(tmp_path: Path, text: str, message: str | None) -> None:
    path = put(tmp_path / "a.json", text)
    if message is None:
        assert read(path)[0] == []
        return
    with pytest.raises(InputError, match=message) as caught:
        read(path, skip_bad=True)
    assert str(path) in str(caught.value)


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is nothing at this path"):
        read(tmp_path / "a.json")
    with pytest.raises(InputError, match=r"holds no \*\.json file"):
        read(tmp_path)
    put(tmp_path / "a.json", {"a": 1})
    put(tmp_path / "b.json", [{"id": "2", "nugget": [{"CNUG": 1}]}])
    with pytest.raises(InputError, match="holds no dialogues"):
        read(tmp_path)


def test_duplicates_are_told_by_their_texts(tmp_path: Path) -> None:
    path = put(tmp_path / "a.json", [KETTLE, KETTLE | {"id": "4"}, PARCEL])
    found, report = read(path)
    assert len(found) == 3
    assert counts(report.noted)["exact duplicates of another conversation"] == 1
    assert [r.dialogue.id for r in read(path, drop_duplicates=True)[0]] == ["3", "1"]


def test_compressed_files_are_read_as_they_are(tmp_path: Path) -> None:
    plain = put(tmp_path / "a.json", SMALL)
    packed = tmp_path / "a.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read(packed)[0] == read(plain)[0]


def test_what_the_layout_has_no_place_for_is_counted(tmp_path: Path) -> None:
    dialogue = Dialogue(
        "d",
        [
            Utterance(0, 0, "ann", "hello", id="u0"),
            Utterance(1, 3, "bob", "hi", attributes={"mood": 1, "utterances": 4}),
            Utterance(2, 4, "ann", ""),
            Utterance(3, 4, "ann", ""),
        ],
        domain="kitchen",
        attributes={"id": 1, "dialeval": "x", "mine": [1]},
    )
    notes = [
        Annotation("d", "nugget", "a", 0, label="HNUG"),
        Annotation("d", "nugget", "a", 3, label="CNUG"),
        Annotation("d", "nugget", "b", 0, label="CNUG"),
        Annotation("d", "nugget", "b", 0, label="CNUG0"),
        Annotation("d", "quality.A", "b", value=0.5),
        Annotation("d", "A", "b", value=1),
        Annotation("d", "quality.A", "b", 0, value=1.0),
        Annotation("d", "intent", "b", 0, label="x"),
    ]
    report = write_with(FORMAT, [Record(dialogue, notes)], tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == [
        {
            "id": "d",
            "turns": [turn("customer", "hello"), turn("helpdesk", "hi"), turn("customer", "", "")],
            "annotations": [{"annotator": "b", "nugget": ["CNUG", None, None]}],
            "mine": [1],
        }
    ]
    assert {reason.partition(", which")[0]: count for reason, count in counts(report.skipped).items()} == {
        "annotations other than a nugget for each turn and a grade for each quality": 7,
        "attributes of dialogues whose names are this format's own": 2,
        "domain of dialogues": 1,
        "empty utterances of turns without text but one": 1,
        "ids of utterances": 1,
        "names of speakers": 4,
        "other attributes of utterances": 2,
        "turns of its own counting": 3,
    }
    assert list(report.noted) == ["dialogues without roles: who speaks first is written as the customer"]
    crowd = Dialogue("d", [Utterance(i, i, name, "") for i, name in enumerate("abc")])
    with pytest.raises(InputError, match="dialogue 'd' has more than two sides without a role"):
        write_with(FORMAT, [Record(crowd)], tmp_path / "b.json")


def test_damage_ends_in_a_corpus_or_one_error(tmp_path: Path) -> None:
    files = {
        "cn.json": json.dumps(SMALL, indent=1, ensure_ascii=False).encode(),
        "en.json": json.dumps(ENGLISH).encode(),
    }
    found = mutate.outcomes(FORMAT, files, tmp_path, seed=7)
    assert sum(found.values()) == mutate.MUTATIONS
    # Damage of the JSON itself ends the whole file.
    assert min(found.values()) > mutate.MUTATIONS // 20, found


@pytest.mark.data
def test_the_published_labels_are_all_there(data: Path, tmp_path: Path) -> None:
    source = data / "dialeval" / "labels_only_ccby4.json"
    found, report = read(source)
    assert len(found) == 4_090
    splits = [record.dialogue.split for record in found]
    assert (splits.count("train"), splits.count("dev")) == (3_700, 390)
    assert all(len({note.annotator for note in record.annotations}) == 19 for record in found)
    assert sum(len(record.dialogue.utterances) for record in found) == 17_155
    assert sum(len(record.annotations) for record in found) == 19 * (17_155 + 3 * 4_090)
    noted = counts(report.noted)
    assert noted["annotators' records of a dialogue's nuggets"] == 19 * 4_090
    assert noted["annotators' records without a trigger (CNUG0)"] == 13_088  # 16.8 %
    again = written(found, tmp_path / "a.json")
    assert again == json.loads(source.read_text())


# What the released files hold: dialogues, utterances (a turn without text is one), turns, annotators of a dialogue.
RELEASED = {
    "train_data_cn.json": (3_700, 16_692, 15_400, 19),
    "train_data_en.json": (1_672, 7_561, 6_917, 19),
    "test_data_cn.json": (390, 1_902, 1_755, 0),
    "test_data_en.json": (390, 1_902, 1_755, 0),
}


def released() -> Path:
    """The released dialogues, whose terms are research only, by ``TERTULIA_DIALEVAL``: a folder, or the zip archive."""
    given = os.environ.get("TERTULIA_DIALEVAL")
    if not given:
        pytest.skip("TERTULIA_DIALEVAL does not name the released dialogues (a folder, or the zip archive)")
    return Path(given)


@pytest.mark.data
@pytest.mark.parametrize("name", RELEASED)
def test_the_released_dialogues_round_trip(name: str, tmp_path: Path) -> None:
    source = released()
    if source.is_file():
        with zipfile.ZipFile(source) as archive:
            [member] = [m for m in archive.namelist() if m.endswith(f"/{name}") and not m.startswith("__MACOSX")]
            text = archive.read(member).decode()
    else:
        text = next(source.rglob(name)).read_text(encoding="utf-8")
    found, _ = read(put(tmp_path / name, text))
    annotators = {len({note.annotator for note in record.annotations}) for record in found}
    rows = [utterance for record in found for utterance in record.dialogue.utterances]
    number = sum(record.dialogue.utterances[-1].turn + 1 for record in found)
    assert (len(found), len(rows), number, *annotators) == RELEASED[name]
    assert written(found, tmp_path / "a.json") == json.loads(text)


@pytest.mark.data
def test_the_released_translations_join_by_id() -> None:
    found, report = read(released())
    assert len(found) == 4_090
    splits = [record.dialogue.split for record in found]
    assert (splits.count("train"), splits.count("test")) == (3_700, 390)
    noted = counts(report.noted)
    assert noted["dialogues without a translation"] == 2_028
    assert "translations with other annotations; those of the dialogue stay" not in noted
    assert not any("translation" in reason for reason in report.skipped)
