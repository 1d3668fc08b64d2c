"""The chat-jsonl format: lines of messages come back as they were, corpora too, and a masked text never comes back."""

import gzip
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.corpus.model import Dialogue, Record, Utterance
from tertulia.errors import InputError
from tertulia.formats.chat_jsonl import ChatJsonLinesFormat

from ..conftest import SMALL
from ..corpus.test_tables import records
from . import mutate
from .dialogues_of_helpdesks import comparable, counts, through_a_corpus
from .dialogues_of_helpdesks import read as read_with
from .dialogues_of_helpdesks import write as write_with

FORMAT = ChatJsonLinesFormat()
TEA = {
    "messages": [
        {"role": "system", "content": "You are a teapot."},
        {"role": "user", "content": "Are you hot?"},
        {"role": "assistant", "content": "Short and stout."},
    ]
}
TOOLS = {
    "id": "tools",
    "messages": [
        {
            "role": "user",
            "name": "ann",
            "content": [{"type": "text", "text": "What is"}, {"type": "text", "text": "this?"}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "a cup"},
        {"role": "assistant", "content": "A cup.", "weight": 0},
        {"role": "assistant", "function_call": {"name": "stop"}},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]},
    ],
    "tools": [{"type": "function"}],
}
NUMBERED = {"id": 5, "messages": [{"role": "user", "content": ""}], "source": "forum"}
LINES = [TEA, TOOLS, NUMBERED]


def read(source: Path, **options: Any) -> Any:
    return read_with(FORMAT, source, **options)


def put(path: Path, *values: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join((v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)) + "\n" for v in values)
    path.write_text(text, encoding="utf-8")
    return path


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def test_messages_become_utterances(tmp_path: Path) -> None:
    [tea, tools, numbered], report = read(put(tmp_path / "a.jsonl", *LINES))
    assert tea.dialogue == Dialogue(
        "line-000000001",
        [Utterance(0, 0, "user", "Are you hot?", "user"), Utterance(1, 1, "assistant", "Short and stout.", "agent")],
        attributes={"system": "You are a teapot."},
    )
    assert [(u.speaker, u.role, u.text, u.turn) for u in tools.dialogue.utterances] == [
        ("ann", "user", "What is\nthis?", 0),
        ("assistant", "agent", "", 1),
        ("look", None, "a cup", 2),
        ("assistant", "agent", "A cup.", 3),
        ("assistant", "agent", "", 3),
        ("user", "user", "", 4),
    ]
    assert tools.dialogue.attributes == {"tools": [{"type": "function"}]}
    assert tools.dialogue.utterances[2].attributes == {"role": "tool", "message": {"tool_call_id": "c1"}}
    assert numbered.dialogue.id == "5"
    assert counts(report.noted) == {
        "messages without text": 4,
        "messages of neither user nor assistant in the conversation": 1,
        "parts of messages that are no text": 1,
    }


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
TEXTS = st.sampled_from(["", "hello", "您好", "a\r\nb\u2028\x00"]) | NAMES
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
ROLES = ["user", "assistant", "system", "developer", "tool", "function"]


@st.composite
def messages(draw: st.DrawFn) -> dict[str, Any]:
    value: dict[str, Any] = draw(
        st.dictionaries(st.sampled_from(["tool_calls", "weight", "refusal"]) | NAMES, JSON, max_size=2)
    )
    for name in ("role", "content", "name"):
        value.pop(name, None)
    value["role"] = draw(st.sampled_from(["user", "assistant"]) | st.sampled_from(ROLES))
    if draw(st.integers(0, 3)) == 0:
        value["name"] = draw(st.none() | NAMES | st.sampled_from(ROLES))
    part = st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}) | st.fixed_dictionaries(
        {"type": st.sampled_from(["image_url", "refusal"]), "text": JSON}
    )
    kind = draw(st.integers(0, 6))
    if kind:
        value["content"] = draw(st.lists(part, max_size=3) if kind == 1 else st.none() if kind == 2 else TEXTS)
    return value


@st.composite
def conversations(draw: st.DrawFn) -> dict[str, Any]:
    value: dict[str, Any] = {"messages": draw(st.lists(messages(), max_size=5))}
    identifier = draw(st.none() | NAMES.filter(bool) | st.integers(-5, 2**70))
    if identifier is not None:
        value["id"] = identifier
    names = st.sampled_from(["number", "extra", "tools"]) | NAMES
    # A text in a field named system is the same as a system message, and written as one.
    taken = {"id", "messages", "system", "developer"}
    return draw(st.dictionaries(names.filter(lambda name: name not in taken), JSON, max_size=2)) | value


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=st.lists(conversations(), max_size=5, unique_by=lambda value: str(value.get("id", value))))
def test_reading_then_writing_gives_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, values: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("chat")
    found, _ = read(put(folder / "a.jsonl", *values))
    kept = through_a_corpus(found, folder / "c")
    assert write_with(FORMAT, kept, folder / "b.jsonl").skipped == {}
    assert lines(folder / "b.jsonl") == values
    again, _ = read(folder / "b.jsonl")
    assert comparable(again) == comparable(kept)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(corpus=st.lists(records(), max_size=4, unique_by=lambda record: record.dialogue.id))
def test_any_corpus_is_written_as_something_that_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[Record]
) -> None:
    folder = tmp_path_factory.mktemp("chat")
    corpus = [record for record in corpus if record.dialogue.id]
    report = write_with(FORMAT, corpus, folder / "a.jsonl")
    by_id = {record.dialogue.id: record.dialogue for record in read(folder / "a.jsonl")[0]}
    assert by_id.keys() == {record.dialogue.id for record in corpus}
    for record in corpus:
        found = by_id[record.dialogue.id]
        instructions = [found.attributes[name] for name in ("system", "developer") if name in found.attributes]
        expected = record.dialogue.texts
        assert found.texts == expected or [*instructions, *found.texts] == expected
        speakers = [u.speaker for u in record.dialogue.utterances]
        assert [u.speaker for u in found.utterances] == speakers[
            len(instructions) if len(found.texts) < len(expected) else 0 :
        ]
    lost = report.skipped.get("annotations, which this format does not hold")
    assert (lost.count if lost else 0) == sum(len(record.annotations) for record in corpus)


def test_self_dialogues_get_roles_and_it_is_said(tmp_path: Path) -> None:
    report = write_with(FORMAT, [Record(dialogue) for dialogue in SMALL], tmp_path / "a.jsonl")
    first = lines(tmp_path / "a.jsonl")[0]
    assert [(m["role"], m["name"]) for m in first["messages"]] == [("user", "A"), ("assistant", "B")] * 2
    assert counts(report.noted) == {
        "conversations without roles: who speaks first is written as user, the other as assistant": 4
    }
    assert counts(report.skipped) == {"domain of dialogues, which this format does not hold": 4}
    found, _ = read(tmp_path / "a.jsonl")
    assert [r.dialogue.texts for r in found] == [d.texts for d in SMALL]
    assert [u.speaker for u in found[0].dialogue.utterances] == ["A", "B", "A", "B"]


def test_a_text_that_was_masked_is_written_without_what_it_was(tmp_path: Path) -> None:
    secret = [{"type": "text", "text": "call 0123456"}]
    [record], _ = read(put(tmp_path / "a.jsonl", {"messages": [{"role": "user", "content": secret}]}))
    record.dialogue.utterances[0].text = "call [number]"
    report = write_with(FORMAT, [record], tmp_path / "b.jsonl")
    assert lines(tmp_path / "b.jsonl") == [{"messages": [{"role": "user", "content": "call [number]"}]}]
    assert counts(report.skipped) == {"other attributes of utterances, which this format does not hold": 1}


def test_ids_are_written_where_the_line_does_not_tell_them(tmp_path: Path) -> None:
    found, _ = read(put(tmp_path / "a.jsonl", TEA, "", TEA | {"n": 1}, TEA | {"n": 2}))
    assert [r.dialogue.id for r in found] == ["line-000000001", "line-000000003", "line-000000004"]
    write_with(FORMAT, found, tmp_path / "b.jsonl")
    assert [line.get("id") for line in lines(tmp_path / "b.jsonl")] == [None, "line-000000003", "line-000000004"]
    assert comparable(read(tmp_path / "b.jsonl")[0]) == comparable(found)


def test_a_folder_and_an_archive_are_read_in_order_of_names(tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    put(folder / "b" / "two.jsonl", TEA)
    put(folder / "a.jsonl", TEA, TEA)
    put(folder / "notes.txt", "not this")
    found, report = read(folder)
    assert [r.dialogue.id for r in found] == ["a.jsonl:000000001", "a.jsonl:000000002", "b/two.jsonl:000000001"]
    assert counts(report.noted) == {"exact duplicates of another conversation": 2}
    assert len(read(folder, drop_duplicates=True)[0]) == 1
    with zipfile.ZipFile(tmp_path / "chats.zip", "w") as packed:
        for name in ("a.jsonl", "b/two.jsonl"):
            packed.write(folder / name, name)
    assert read(tmp_path / "chats.zip")[0] == found
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress((folder / "a.jsonl").read_bytes()))
    assert [r.dialogue.id for r in read(tmp_path / "c.jsonl.gz")[0]] == ["line-000000001", "line-000000002"]


def test_what_the_layout_has_no_place_for_is_counted(tmp_path: Path) -> None:
    [record], _ = read(put(tmp_path / "a.jsonl", TEA))
    record.dialogue.split = "train"
    record.dialogue.attributes |= {"messages": 1, "id": "x", "mine": 2}
    record.dialogue.utterances[0].attributes = {"role": "user", "name": "x", "content": 5, "message": {"role": "tool"}}
    record.dialogue.utterances[1].turn = 7
    report = write_with(FORMAT, [record], tmp_path / "b.jsonl")
    assert lines(tmp_path / "b.jsonl") == [TEA | {"mine": 2}]
    assert {reason.partition(", which")[0]: count for reason, count in counts(report.skipped).items()} == {
        "attributes of dialogues whose names are this format's own": 2,
        "split of dialogues": 1,
        "other attributes of utterances": 4,
        "turns of its own counting": 1,
    }


def test_a_first_utterance_of_the_system_is_said_to_come_back_as_an_attribute(tmp_path: Path) -> None:
    dialogue = Dialogue("d", [Utterance(0, 0, "system", "Be kind.")])
    report = write_with(FORMAT, [Record(dialogue)], tmp_path / "a.jsonl")
    assert list(report.noted) == ["first utterances that are read again as attributes.system or .developer"]
    assert read(tmp_path / "a.jsonl")[0][0].dialogue.attributes == {"system": "Be kind."}


def message(**fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "hello"}, {"role": "user", "content": "x"} | fields]}


BAD: list[tuple[Any, str]] = [
    ("{", "is not JSON"),
    ("[]", "holds a list; expected an object"),
    ({}, "messages holds null; expected a list of objects with role and content"),
    ({"messages": "no"}, 'messages holds "no"; expected a list'),
    ({"messages": ["no"]}, "messages holds a list; expected a list of objects with role and content"),
    (message() | {"id": ""}, "the id is empty"),
    (message() | {"id": 1.5}, "id holds 1.5; expected a text"),
    (message() | {"id": True}, "id holds true; expected a text"),
    (message() | {"id": "line-000000001"}, "the id 'line-000000001' stands here again"),
    (message(role="robot"), 'message 1 has the role "robot"; expected one of user, assistant, system'),
    (message(role=None), "message 1 has the role null"),
    (message(role=["user"]), "message 1 has the role a list"),
    (message(name=5), "in message 1 name holds 5; expected a text"),
    (message(content=5), "in message 1 content holds 5; expected a text, a list of parts or null"),
    (message(content={}), "in message 1 content holds an object"),
    (message(content=["no"]), "in message 1 content holds a list; expected a list of parts with a type"),
    (message(content=[{}]), "in message 1 type holds null; expected a text"),
    (message(content=[{"type": "text"}]), "in message 1 text holds null; expected a text"),
    (message(content=[{"type": "text", "text": 5}]), "in message 1 text holds 5"),
    (message(content="\ud800"), "in message 1 content holds half of a surrogate pair"),
    (message(name="\ud800"), "in message 1 name holds half of a surrogate pair"),
    (message(weight="\ud800"), "in message 1 the other fields hold half of a surrogate pair"),
    (message(content=[{"type": "image", "url": "\ud800"}]), "in message 1 content hold half of a surrogate pair"),
    (message() | {"tools": "\ud800"}, "half of a surrogate pair"),
    ('{"messages": [], "a": 1e999}', "cannot be kept"),
    ('{"messages": [], "a": NaN}', "NaN is not a JSON number"),
    ('{"messages": [], "a": ' + "[" * 100_000 + "]" * 100_000 + "}", "is nested too deeply"),
]


@pytest.mark.parametrize(("bad", "message"), BAD, ids=[message for _, message in BAD])
def test_a_bad_line_is_one_error_or_skipped_and_counted(tmp_path: Path, bad: Any, message: str) -> None:
    raw = bad if isinstance(bad, str) else json.dumps(bad)
    path = put(tmp_path / "a.jsonl", TEA, raw, TOOLS)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert len(caught.value.one_line()) < 400
    found, report = read(path, skip_bad=True)
    assert [record.dialogue.id for record in found] == ["line-000000001", "tools"]
    assert report.skipped["malformed records"].count == 1
    assert (report.skipped["malformed records"].first or "").startswith("a.jsonl:2: ")


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is nothing at this path"):
        read(tmp_path / "a.jsonl")
    with pytest.raises(InputError, match=r"holds no \*\.jsonl file"):
        read(tmp_path)


def test_damage_ends_in_a_corpus_or_one_error(tmp_path: Path) -> None:
    text = "\n".join(json.dumps(value, ensure_ascii=False) for value in [*LINES, TEA | {"id": "t"}]) + "\n"
    found = mutate.outcomes(FORMAT, {"a.jsonl": text.encode()}, tmp_path, seed=9)
    assert sum(found.values()) == mutate.MUTATIONS
    assert min(found.values()) > mutate.MUTATIONS // 10, found
