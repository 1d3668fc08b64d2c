"""What the mantis format can and cannot write, and where it puts it."""

from pathlib import Path

import pytest

from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.errors import InputError
from tertulia.formats.mantis.format import ANNOTATOR, LAYER

from .mantis_files import write, written


def test_what_the_format_does_not_hold_is_counted(tmp_path: Path) -> None:
    utterances = [
        Utterance(0, 0, "Ann", "hello", "user", attributes={"utterance": "x", "mood": "glad"}),
        Utterance(1, 5, "Assistant", "hi", "agent", id="u1"),
    ]
    notes = [
        Annotation("d", "rating", "ann", 1, value=4.0),
        Annotation("d", LAYER, ANNOTATOR, 0, 0, 1, "OQ", 0.5, {"sure": True}),
        Annotation("d", LAYER, ANNOTATOR, label="OQ"),
    ]
    value, report = written([Record(Dialogue("d", utterances, attributes={"title": "x"}), notes)], tmp_path / "a.json")
    assert value == {
        "d": {
            "utterances": [
                {"actor_type": "user", "utterance_pos": 1, "utterance": "hello", "intent": ["OQ"], "mood": "glad"},
                {"actor_type": "agent", "utterance_pos": 2, "utterance": "hi", "id": "u1"},
            ]
        }
    }
    assert {reason.partition(", which")[0]: finding.count for reason, finding in report.skipped.items()} == {
        "annotations of other layers than intent": 1,
        "annotations of the layer intent without an utterance or a label": 1,
        "spans, values and attributes of annotations": 1,
        "names of speakers": 1,
        "turns of its own counting": 1,
        "attributes with the name of a field of this format": 2,
    }


def test_what_does_not_fit_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="in dialogue 'd' utterance 0 is by 'A', who is neither user nor agent"):
        write([Record(Dialogue("d", [Utterance(0, 0, "A", "hello")]))], tmp_path / "a.json")
    with pytest.raises(InputError, match=r"the split of dialogue 'd' is '\.\./x', which cannot be the name of a file"):
        write([Record(Dialogue("d", [], split="../x"))], tmp_path / "b.json")


def test_no_attribute_leads_out_of_the_folder(tmp_path: Path) -> None:
    for number, name in enumerate(
        ["../a.json", "/tmp/a.json", "a/../../b.json", "x\0.json", "", ".json/..", 5, "a" * 300 + ".json"]
    ):
        path = tmp_path / f"{number}.json"
        assert written([Record(Dialogue("d", [], attributes={"file": name}))], path)[0] == {"d": {"utterances": []}}
    assert len(list(tmp_path.iterdir())) == 8


def test_names_that_two_dialogues_want_go_to_one(tmp_path: Path) -> None:
    records = [Record(Dialogue(name, [], attributes={"key": "0"})) for name in ("a", "b")]
    assert written(records, tmp_path / "a.json")[0] == {"0": {"utterances": []}, "b": {"utterances": []}}
    records.append(Record(Dialogue("0", [])))
    with pytest.raises(InputError, match="two dialogues would have the name '0'"):
        write(records, tmp_path / "b.json")


def test_a_file_can_not_be_the_folder_of_another(tmp_path: Path) -> None:
    records = [Record(Dialogue(name, [], attributes={"file": name})) for name in ("a.json", "a.json/b.json")]
    with pytest.raises(InputError, match="of which one is a folder of the other"):
        write(records, tmp_path / "out")


def test_many_files_are_written_side_by_side(tmp_path: Path) -> None:
    names = [f"part-{n % 150:03d}.json" for n in range(300)]
    records = [Record(Dialogue(f"d{n:03d}", [], attributes={"file": name})) for n, name in enumerate(names)]
    found, _ = written(records, tmp_path / "out")
    assert len(found) == 150
    assert all(len(part) == 2 for part in found.values())
