"""The convokit format: what becomes of a corpus of ConvoKit, and of what is odd in one."""

import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.interchange.convokit_rows import time_of, timestamp_of
from tertulia.corpus.model import Dialogue, Record, Utterance
from tertulia.errors import InputError
from tertulia.formats.convokit import format as convokit

from ..corpus.test_tables import EPOCH
from .convokit_files import FILES, folder, one, read, utterance, write


def test_a_conversation_of_convokit(tmp_path: Path) -> None:
    source = folder(
        tmp_path / "a",
        [
            utterance("u1", "Seen anything good?", timestamp=1_500_000_000, meta={"score": 3}),
            utterance("u2", "A film about a whale.", speaker="bob", **{"reply-to": "u1"}, timestamp=1_500_000_060),
        ],
        conversations={"c1": {"meta": {"topic": "films"}, "vectors": []}},
        speakers={"ann": {"meta": {"age": 40}, "vectors": []}, "bob": {"meta": {}, "vectors": []}},
    )
    assert one(source) == Record(
        Dialogue(
            "c1",
            [
                Utterance(
                    0,
                    0,
                    "ann",
                    "Seen anything good?",
                    sent_at=datetime(2017, 7, 14, 2, 40, tzinfo=UTC),
                    id="u1",
                    attributes={"score": 3},
                ),
                Utterance(
                    1,
                    1,
                    "bob",
                    "A film about a whale.",
                    sent_at=datetime(2017, 7, 14, 2, 41, tzinfo=UTC),
                    id="u2",
                ),
            ],
            started_at=datetime(2017, 7, 14, 2, 40, tzinfo=UTC),
            attributes={"topic": "films", "convokit": {"speakers": {"ann": {"age": 40}}}},
        )
    )


def test_old_names_of_fields_and_files(tmp_path: Path) -> None:
    source = tmp_path / "old"
    source.mkdir()
    old = {"id": "u1", "root": "c1", "user": "ann", "text": "hello", "reply_to": None, "timestamp": None, "meta": None}
    (source / "utterances.json").write_text(json.dumps([old, old | {"id": "u2", "reply_to": "u1", "user": "bob"}]))
    (source / "conversations.json").write_text(json.dumps({"c1": {"topic": "films"}}))
    (source / "users.json").write_text(json.dumps({"ann": {"age": 40}}))
    found = one(source).dialogue
    assert [(u.id, u.speaker, u.attributes) for u in found.utterances] == [("u1", "ann", {}), ("u2", "bob", {})]
    assert found.attributes == {"topic": "films", "convokit": {"speakers": {"ann": {"age": 40}}}}


def test_a_tree_of_replies_keeps_what_replies_to_what(tmp_path: Path) -> None:
    source = folder(
        tmp_path / "a",
        [
            utterance("root"),
            utterance("a", **{"reply-to": "root"}),
            utterance("b", **{"reply-to": "root"}),
            utterance("stray"),
            utterance("far", **{"reply-to": "elsewhere"}),
        ],
    )
    found = one(source).dialogue.utterances
    assert [u.attributes for u in found] == [
        {},
        {},
        {"reply_to": "root"},
        {"reply_to": None},
        {"reply_to": "elsewhere"},
    ]
    again = write(tmp_path / "b", [one(source)])
    lines = [json.loads(line) for line in (again / "utterances.jsonl").read_text().splitlines()]
    assert [line["reply-to"] for line in lines] == [None, "root", "root", None, "elsewhere"]


def test_utterances_are_brought_together_from_all_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convokit, "_CHUNK_CHARACTERS", 12)
    lines = [
        utterance(f"c{c}-{n}", f"text {c} {n}", conversation_id=f"c{c}", **{"reply-to": f"c{c}-{n - 1}" if n else None})
        for n in range(5)
        for c in (2, 0, 1)
    ]
    found, _ = read(folder(tmp_path / "a", lines))
    assert [record.dialogue.texts for record in found] == [[f"text {c} {n}" for n in range(5)] for c in range(3)]


def test_a_reply_never_stands_before_what_it_replies_to(tmp_path: Path) -> None:
    lines = [
        utterance("u3", "3", **{"reply-to": "u2"}),
        utterance("u2", "2", **{"reply-to": "u1"}),
        utterance("u1", "1"),
    ]
    assert one(folder(tmp_path / "a", lines)).dialogue.texts == ["1", "2", "3"]


def test_times_put_utterances_in_order(tmp_path: Path) -> None:
    lines = [utterance("u1", "late", timestamp=1_500_000_002), utterance("u2", "early", timestamp=1_500_000_001)]
    assert one(folder(tmp_path / "a", lines)).dialogue.texts == ["early", "late"]
    lines[1]["timestamp"] = None
    assert one(folder(tmp_path / "b", lines)).dialogue.texts == ["late", "early"]


@pytest.mark.parametrize(
    ("timestamp", "sent_at", "kept"),
    [
        (None, None, False),
        (1_500_000_000, datetime(2017, 7, 14, 2, 40, tzinfo=UTC), False),
        (1_500_000_000.5, datetime(2017, 7, 14, 2, 40, 0, 500_000, tzinfo=UTC), False),
        (1_500_000_000.0, datetime(2017, 7, 14, 2, 40, tzinfo=UTC), True),
        ("1500000000", datetime(2017, 7, 14, 2, 40, tzinfo=UTC), True),
        ("1500000000.0", datetime(2017, 7, 14, 2, 40, tzinfo=UTC), True),
        ("2017-07-14T02:40:00Z", datetime(2017, 7, 14, 2, 40, tzinfo=UTC), True),
        (17, None, True),
        (0.5, None, True),
        (1_500_000_000_000, None, True),
        (10**400, None, True),
        (-5, None, True),
        ("1:07.7", None, True),
        ("", None, True),
        ("٣", None, True),
    ],
)
def test_a_timestamp_is_a_time_or_is_kept_as_it_is(
    tmp_path: Path, timestamp: Any, sent_at: datetime | None, kept: bool
) -> None:
    source = folder(tmp_path / "a", [utterance("u1", timestamp=timestamp)])
    [found] = one(source).dialogue.utterances
    assert found.sent_at == sent_at
    assert found.attributes == ({"convokit": {"timestamp": timestamp}} if kept else {})
    [line] = (write(tmp_path / "b", [one(source)]) / "utterances.jsonl").read_text().splitlines()
    again = json.loads(line)["timestamp"]
    assert (again, type(again)) == (timestamp, type(timestamp))


@settings(max_examples=200, deadline=None)
@given(st.timedeltas(timedelta(days=1_200), timedelta(days=80_000)).map(lambda since: EPOCH + since))
def test_a_time_comes_back_from_its_timestamp(time: datetime) -> None:
    assert time_of(timestamp_of(time)) == time


def test_what_is_not_kept_is_counted(tmp_path: Path) -> None:
    source = folder(
        tmp_path / "a",
        [utterance("u1", vectors=["bert"], colour="red"), utterance("u2", None, meta={"x": "<##bin{0}&&@**>"})],
        conversations={"c1": {"meta": {}, "vectors": ["a", "b"]}, "c0": {"meta": {}}},
        corpus={"name": "films", "year": 1},
        index={"utterances-index": {"x": ["bin"], "y": ["<class 'int'>"]}, "version": 1},
    )
    found, report = read(source)
    assert [(r.dialogue.id, r.dialogue.texts) for r in found] == [("c0", []), ("c1", ["hello", ""])]
    assert report.to_json() == {
        "skipped": {
            "metadata in pickles, which are not read": {"count": 1, "first": "index.json:1 (record 0)"},
            "metadata of the corpus as a whole": {"count": 2, "first": "corpus.json:1 (record 0)"},
            "vectors": {"count": 3, "first": "conversations.json:1 (record 0)"},
            "fields that ConvoKit does not have": {"count": 1, "first": "utterances.jsonl:1"},
        },
        "noted": {
            "utterances without a text": {"count": 1, "first": "utterances.jsonl:2"},
            "conversations without an utterance": {"count": 1, "first": "conversations.json:1 (record 1)"},
        },
    }


def test_numbers_as_ids_are_texts(tmp_path: Path) -> None:
    lines = [utterance(1, conversation_id=7, speaker=3), utterance(2, conversation_id=7, **{"reply-to": 1})]  # type: ignore[arg-type]
    found, report = read(folder(tmp_path / "a", lines))
    assert [(u.id, u.speaker, u.attributes) for u in found[0].dialogue.utterances] == [("1", "3", {}), ("2", "ann", {})]
    assert report.noted["ids that are numbers, taken as texts"].count == 4


def test_utterances_alone_without_a_folder(tmp_path: Path) -> None:
    plain = [
        {"id": "u1", "speaker": "ann", "text": "hello"},
        {"id": "u2", "speaker": "bob", "text": "hi", "reply-to": "u1"},
        {"id": "v1", "speaker": "ann", "text": "again"},
    ]
    file = tmp_path / "talks.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in plain))
    found, _ = read(file)
    assert [(r.dialogue.id, r.dialogue.texts) for r in found] == [
        ("__default_conversation__u1", ["hello", "hi"]),
        ("__default_conversation__v1", ["again"]),
    ]
    plain[1]["reply-to"] = "elsewhere"
    file.write_text(json.dumps(plain[1]))
    with pytest.raises(InputError, match=r"talks.jsonl:1: has no conversation_id, and replies to 'elsewhere'"):
        read(file)


def test_the_archive_that_convokit_gives(tmp_path: Path) -> None:
    source = folder(tmp_path / "films-corpus", [utterance("u1"), utterance("u2", **{"reply-to": "u1"})])
    archive = tmp_path / "films-corpus.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in FILES:
            packed.write(source / name, f"films-corpus/{name}")
            packed.writestr(f"__MACOSX/films-corpus/._{name}", "x")
    assert read(archive)[0] == read(source)[0] == read(tmp_path)[0]


def test_two_corpora_are_not_one(tmp_path: Path) -> None:
    folder(tmp_path / "a", [utterance("u1")])
    folder(tmp_path / "b", [utterance("u1")])
    with pytest.raises(InputError, match=r"holds 2 corpora, 'a' and 'b' among them; expected one"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "holds a list; expected an object"),
        (utterance("u9", speaker=None), "speaker holds null; expected a text"),
        (utterance("u9", speaker={"id": "ann"}), "speaker holds an object; expected a text"),
        (utterance("u9", text=5), "text holds 5; expected a text"),
        (utterance("u9", text="\ud800"), "text holds half of a surrogate pair"),
        (utterance("u9", meta=[]), "meta holds a list; expected an object"),
        (utterance("u9", meta={"a": "\udc00"}), "meta hold half of a surrogate pair"),
        (utterance("u9", timestamp=True), "timestamp holds true; expected a number or a text"),
        (utterance("u9", timestamp=[1]), "timestamp holds a list; expected a number or a text"),
        (
            json.dumps(utterance("u9")).replace('"timestamp": null', '"timestamp": 1e999'),
            "timestamp holds inf; expected a finite number",
        ),
        (utterance("u9", conversation_id=""), "conversation_id is empty"),
        (utterance("u9", **{"reply-to": 1.5}), "reply-to holds 1.5; expected a text"),
        (utterance(None), "id holds null; expected a text"),  # type: ignore[arg-type]
        (utterance("u1"), "the utterance 'u1' stands here again in its conversation"),
    ],
)
def test_a_malformed_utterance_is_named_or_left_out(tmp_path: Path, line: Any, message: str) -> None:
    source = folder(tmp_path / "a", [utterance("u1"), line, utterance("u2", "bye")])
    with pytest.raises(InputError) as caught:
        read(source)
    assert f"{source}/utterances.jsonl:2: " in caught.value.one_line()
    assert message in caught.value.one_line()
    found, report = read(source, skip_bad=True)
    assert found[0].dialogue.texts == ["hello", "bye"]
    assert report.skipped["malformed records"].count == 1
    assert str(report.skipped["malformed records"].first).startswith("utterances.jsonl:2: ")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("conversations", "[]", None),
        ("conversations", "[1]", "holds a list; expected an object with conversations by their ids"),
        ("conversations", "5", "is not a JSON array or object"),
        ("conversations", "{", "expected a name in quotes"),
        ("conversations", {"c1": 5}, "the conversation is 5; expected an object"),
        ("conversations", {"c1": {"meta": 5}}, "meta holds 5; expected an object"),
        ("conversations", '{"c1": {}, "c1": {}}', "the conversation 'c1' stands here again"),
        ("conversations", {"": {}}, "the id is empty"),
        ("conversations", '{"\\ud800": {}}', "half of a surrogate pair"),
        ("speakers", '{"ann": {"a": 1}, "ann": {"a": 2}}', "the speaker 'ann' stands here again"),
        ("speakers", '{"\\ud800": {}}', "half of a surrogate pair"),
        ("speakers", {"ann": []}, "the speaker is a list; expected an object"),
    ],
)
def test_malformed_files_beside_the_utterances(tmp_path: Path, name: str, content: Any, message: str | None) -> None:
    source = folder(tmp_path / "a", [utterance("u1")], **{name: content})
    if message is None:
        assert len(read(source)[0]) == 1
        return
    with pytest.raises(InputError) as caught:
        read(source)
    assert f"{source}/{name}.json" in caught.value.one_line()
    assert message in caught.value.one_line()


def test_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is nothing at this path"):
        read(tmp_path / "none")
    with pytest.raises(InputError, match="expected a corpus folder of ConvoKit"):
        read(tmp_path)
    (tmp_path / "speakers.json").write_text("{}")
    with pytest.raises(InputError, match=r"holds no utterances.jsonl or utterances.json"):
        read(tmp_path)


def test_one_conversation_cannot_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convokit, "_MOST_UTTERANCES", 3)
    source = folder(tmp_path / "a", [utterance(f"u{n}") for n in range(5)])
    with pytest.raises(InputError, match=r"utterances.jsonl:4: the conversation 'c1' has more than 3 utterances"):
        read(source)
    found, report = read(source, skip_bad=True)
    assert len(found[0].dialogue.utterances) == 3
    assert report.skipped["malformed records"].count == 2


def test_duplicates(tmp_path: Path) -> None:
    source = folder(tmp_path / "a", [utterance("u1"), utterance("u2", conversation_id="c2")])
    found, report = read(source)
    assert len(found) == 2
    assert report.noted["exact duplicates of another conversation"].first == "utterances.jsonl:2"
    assert len(read(source, drop_duplicates=True)[0]) == 1
