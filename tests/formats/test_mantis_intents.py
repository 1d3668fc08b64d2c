"""Intents in a table of their own, joined to the dialogues of the mantis format."""

import csv
import io
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.exchange import Report
from tertulia.corpus.model import Record
from tertulia.errors import ConfigurationError, InputError, TertuliaError
from tertulia.formats.importing import import_corpus
from tertulia.formats.mantis.format import ANNOTATOR, INTENTS, LAYER

from . import mutate
from .mantis_files import SHEET, dialogue, put, read, said, same_json, written
from .ranking import counts

HEADER = "allocation,conversation_id,comment_pos,annotations\n"


def plain(*texts: str, **fields: Any) -> dict[str, Any]:
    """A dialogue without intents, user and agent in turn."""
    return dialogue(*(said(place, ("agent", "user")[place % 2], text) for place, text in enumerate(texts, 1)), **fields)


def read_with(source: Path, table: str | Path, **options: Any) -> tuple[list[Record], Report]:
    return read(source, values={"intents": str(table)}, **options)


def labels(record: Record) -> list[tuple[int | None, str | None]]:
    return [(note.position, note.label) for note in record.annotations]


def test_rows_become_annotations(tmp_path: Path) -> None:
    put(tmp_path / "s" / "merged_train.json", {"1": plain("a", "b", "c"), "2": plain("d", "e")})
    put(tmp_path / "s" / "merged_dev.json", {"1": plain("f", "g")})
    table = put(
        tmp_path / "intents.csv",
        HEADER + 'train,1,2,"PA,IR"\ntrain,1,3," FD , GG "\ndev,1,1,O\ndev,1,2,PA\ntest,1,2,PA\ntrain,77,2,PA\n',
    )
    found, report = read_with(tmp_path / "s", table)
    by_id = {record.dialogue.id: record for record in found}
    assert labels(by_id["merged_train-1"]) == [(0, "OQ"), (1, "IR"), (1, "PA"), (2, "FD"), (2, "GG")]
    assert labels(by_id["merged_dev-1"]) == [(0, "O"), (1, "PA")]
    assert labels(by_id["merged_train-2"]) == []
    notes = [note for record in found for note in record.annotations]
    assert {(note.layer, note.annotator, note.start, note.value) for note in notes} == {(LAYER, ANNOTATOR, None, None)}
    assert {note.dialogue_id for note in notes} == {"merged_train-1", "merged_dev-1"}
    assert [by_id[f"merged_train-{n}"].dialogue.attributes.get("has_intent_labels") for n in (1, 2)] == [True, None]
    assert counts(report) == {
        "first utterances without a row, which are the original question": 1,
        "rows of intents whose dialogue is not in the source": 2,
    }
    assert report.skipped["rows of intents whose dialogue is not in the source"].first in (
        "intents.csv:6",
        "intents.csv:7",
    )


def merged(value: dict[str, Any], rows: list[tuple[str, str, int, list[str]]], split: str) -> dict[str, Any]:
    """The definition: what the release's merging does, in plain steps (with labels in order, as this format has them)."""
    value = json.loads(json.dumps(value))
    for allocation, name, place, wanted in rows:
        if allocation != split or name not in value:
            continue
        if "has_intent_labels" not in value[name]:
            value[name]["has_intent_labels"] = True
            value[name]["utterances"][0]["intent"] = ["OQ"]
        value[name]["utterances"][place - 1]["intent"] = sorted(wanted)
    return value


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["train", "dev", "test"]),
            st.sampled_from(["1", "2", "30", "x y"]),
            st.integers(1, 3),
            st.lists(st.sampled_from(sorted(INTENTS)), min_size=1, unique=True),
        ),
        max_size=8,
        unique_by=lambda row: row[:3],
    ),
    split=st.sampled_from(["train", "dev", "test"]),
)
def test_the_export_is_what_the_merging_gives(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int, list[str]]], split: str
) -> None:
    folder = tmp_path_factory.mktemp("mantis")
    value = {name: plain("a", "b", "c", title=name) for name in ("1", "2", "30")}
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(HEADER.strip().split(","))
    writer.writerows([allocation, name, place, ",".join(wanted)] for allocation, name, place, wanted in rows)
    found, _ = read_with(put(folder / f"{split}.json", value), put(folder / "t.csv", out.getvalue()))
    assert same_json(written(found, folder / "again.json")[0], merged(value, rows, split))


def test_a_file_that_says_no_split_takes_the_rows_of_any(tmp_path: Path) -> None:
    source = put(tmp_path / "data.json", {"1": plain("a", "b"), "2": plain("c", "d"), "3": plain("e", "f")})
    table = put(tmp_path / "t.csv", HEADER + "train,1,2,PA\ndev,2,2,PA\ntrain,2,2,IR\n")
    with pytest.raises(
        InputError, match=r"has rows of dev and of train for the dialogue '2'; expected a file whose name"
    ) as e:
        read_with(source, table)
    assert str(e.value).startswith(f"{source}:1 (record 1): ")
    found, report = read_with(source, table, skip_bad=True)
    assert [labels(record) for record in found] == [[(0, "OQ"), (1, "PA")], [], []]
    assert report.skipped.keys() == {"malformed records"}


def test_splits_of_another_name(tmp_path: Path) -> None:
    source = put(tmp_path / "valid.json", {"1": plain("a", "b")})
    for name in ("dev", "valid", "validation", "DEV"):
        found, _ = read_with(source, put(tmp_path / "t.csv", HEADER + f"{name},1,2,PA\n"))
        assert labels(found[0]) == [(0, "OQ"), (1, "PA")]


def test_intents_that_the_file_has_itself_stay(tmp_path: Path) -> None:
    value = dialogue(
        said(1, "user", "a", intent=["OQ"]), said(2, "agent", "b", intent=["PA", "IR"]), said(3, "user", "c")
    )
    source = put(tmp_path / "train.json", {"1": value})
    table = put(tmp_path / "t.csv", HEADER + 'train,1,1,O\ntrain,1,2,"IR,PA"\ntrain,1,3,GG\n')
    found, report = read_with(source, table)
    assert labels(found[0]) == [(0, "OQ"), (1, "IR"), (1, "PA"), (2, "GG")]
    assert counts(report) == {
        "rows of intents whose utterance has others in its own file, which stay": 1,
        "rows of intents that the utterance's own file has as well": 1,
    }


def test_oddities_of_the_table(tmp_path: Path) -> None:
    source = put(tmp_path / "train.json", {"1": plain("a", "b", "c", "d")})
    text = "\ufeffNotes,Annotations,comment_pos,conversation_id,ALLOCATION\r\n"
    text += '"two\r\nlines","PA,PA,XX",2,1, train \r\n\r\n,,3,1,train\r\nx,"PA,XX",2,1,train\r\n'
    found, report = read_with(source, put(tmp_path / "t.csv", text))
    assert labels(found[0]) == [(0, "OQ"), (1, "PA"), (1, "XX")]
    assert counts(report) == {
        "labels that stand twice in a row of intents; each is taken once": 1,
        "intents that the release does not have; they are kept": 2,
        "rows of intents without a label": 1,
        "rows of intents that stand twice": 1,
        "first utterances without a row, which are the original question": 1,
    }
    assert report.noted["intents that the release does not have; they are kept"].first == "t.csv:2 (XX)"
    assert report.skipped["rows of intents without a label"].first == "t.csv:5"


BAD_ROWS = [
    ("train,1,9,PA", "comment_pos is 9; the dialogue '1' has 2 utterances"),
    ("train,1,0,PA", 'comment_pos holds "0"; expected a whole number from 1'),
    ("train,1,-1,PA", 'comment_pos holds "-1"'),
    ("train,1,2.0,PA", 'comment_pos holds "2.0"'),
    ("train,1,²,PA", 'comment_pos holds "²"'),
    ("train,1," + "9" * 5000 + ",PA", "comment_pos holds"),
    ("all,1,2,PA", 'allocation holds "all"; expected train, dev or test'),
    ("train,,2,PA", "conversation_id is empty"),
    ("train,1,2", "the row has 3 cells; the header names 4"),
    ("train,1,2,PA,IR", "the row has 5 cells; the header names 4"),
    ("train,1,2,\udcff", "the row is not UTF-8"),
    ('train,1,2,"PA"x', "is not CSV: "),
    (f"train,1,2,{'P' * 20_000}", "a cell is longer than 10,000 characters"),
    ("train,1,1,IR", "has other labels on line 2 (OQ); expected every utterance once"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_ROWS, ids=[message for _, message in BAD_ROWS])
def test_a_bad_row_is_one_error_or_skipped(tmp_path: Path, bad: str, message: str) -> None:
    source = put(tmp_path / "train.json", {"1": plain("a", "b")})
    table = tmp_path / "t.csv"
    table.write_bytes(f"{HEADER}train,1,1,OQ\n{bad}\ntrain,1,2,GG\n".encode(errors="surrogateescape"))
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_with(source, table)
    assert str(caught.value).startswith(f"{table}:3: ")
    assert len(caught.value.one_line()) < len(str(table)) + 300
    found, report = read_with(source, table, skip_bad=True)
    assert labels(found[0]) == [(0, "OQ"), (1, "GG")]
    assert counts(report) == {"malformed records": 1}
    assert (report.skipped["malformed records"].first or "").startswith("t.csv:3: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; expected a CSV file of intents with the columns allocation, conversation_id,"),
        ("\n\n", "is empty"),
        ("allocation,conversation_id,annotations\n", "has no column comment_pos; expected"),
        (HEADER.strip() + ",annotations\n", "has more than one column annotations"),
        ('"allocation', "is not CSV"),
    ],
)
def test_what_is_no_table_is_always_an_error(tmp_path: Path, text: str, message: str) -> None:
    source = put(tmp_path / "train.json", {"1": plain("a", "b")})
    for skip_bad in (False, True):
        with pytest.raises(InputError, match=message) as caught:
            read_with(source, put(tmp_path / "t.csv", text), skip_bad=skip_bad)
        assert str(tmp_path / "t.csv") in caught.value.one_line()


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    source = put(tmp_path / "train.json", {"1": plain("a", "b")})
    with pytest.raises(InputError, match="there is nothing at this path"):
        read_with(source, tmp_path / "none.csv")
    with pytest.raises(ConfigurationError, match="--option intents names no file"):
        read_with(source, "")


def test_sheets_take_intents_too(tmp_path: Path) -> None:
    table = put(tmp_path / "t.csv", HEADER + "dev,4,2,PA\n")
    found, _ = read_with(put(tmp_path / "ann.txt", SHEET), table)
    assert labels(found[1]) == [(0, "OQ"), (1, "PA")]


def test_the_table_is_an_input_of_the_corpus(tmp_path: Path) -> None:
    source = put(tmp_path / "train.json", {"1": plain("a", "b")})
    table = put(tmp_path / "intents.csv", HEADER + "train,1,2,PA\n")
    steps: list[int] = []
    with import_corpus(
        "mantis",
        str(source),
        tmp_path / "c",
        Report(),
        values={"intents": str(table)},
        progress=lambda step, _total: steps.append(step),
    ) as corpus:
        assert [entry["name"] for entry in corpus.manifest.inputs] == ["train.json", "intents.csv"]
        assert corpus.manifest.options["values"] == {"intents": "intents.csv"}
        assert corpus.manifest.counts["annotations"] == 2
    assert sum(steps) == source.stat().st_size


def test_damage_of_the_table_ends_in_a_corpus_or_one_error(tmp_path: Path) -> None:
    chance = random.Random(3)
    source = put(tmp_path / "train.json", {str(n): plain("a", "b", "c", title=str(n)) for n in range(3)})
    good = HEADER + "".join(f'train,{n % 3},{n % 2 + 2},"PA,IR"\n' for n in range(6))
    table, fine = tmp_path / "t.csv", 0
    for number in range(mutate.MUTATIONS // 2):
        table.write_bytes(mutate.mutate(chance, good.encode()))
        problem = None
        try:
            read_with(source, table, skip_bad=bool(number % 2))
        except TertuliaError as error:
            problem = error.one_line()
        if problem is None:
            fine += 1
        else:
            assert str(table) in problem
            assert "\n" not in problem
    assert mutate.MUTATIONS // 80 < fine < mutate.MUTATIONS // 2
