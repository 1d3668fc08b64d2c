"""Streaming JSON gives what ``json.loads`` gives, whatever the size of a piece; what is no JSON is one error with its place."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.errors import InputError
from tertulia.formats.files import json_reading, lines
from tertulia.formats.files.json_reading import json_elements, json_lines
from tertulia.formats.files.sources import source_files

OPTIONS = ReadOptions()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
SPACE = st.text(" \t\r\n", max_size=3)


def elements(path: Path) -> list[tuple[str | int, Any]]:
    (file,) = source_files(str(path), "*", expected="JSON", options=OPTIONS)
    return [(key, value) for key, value, _ in json_elements(file, OPTIONS)]


def places(path: Path) -> list[str]:
    (file,) = source_files(str(path), "*", expected="JSON", options=OPTIONS)
    return [place.shown for _, _, place in json_elements(file, OPTIONS)]


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_reading, "_CHUNK", 3)


@settings(max_examples=150, deadline=None)
@given(
    value=st.lists(VALUES, max_size=6) | st.dictionaries(st.text(), VALUES, max_size=6),
    indent=st.sampled_from([None, 0, 3]),
    ascii_only=st.booleans(),
    before=SPACE,
    after=SPACE,
    piece=st.integers(1, 9),
    mark=st.booleans(),
)
def test_it_gives_what_loading_the_whole_gives(
    tmp_path_factory: pytest.TempPathFactory,
    value: Any,
    indent: int | None,
    ascii_only: bool,
    before: str,
    after: str,
    piece: int,
    mark: bool,
) -> None:
    path = tmp_path_factory.mktemp("j") / "a.json"
    text = before + json.dumps(value, indent=indent, ensure_ascii=ascii_only) + after
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_reading, "_CHUNK", piece)
        found = elements(path)
    assert found == (list(value.items()) if isinstance(value, dict) else list(enumerate(value)))


def test_a_place_names_the_line_and_the_record(tmp_path: Path, small_pieces: None) -> None:
    path = tmp_path / "a.json"
    path.write_text('[\n  {"a": 1},\n\n  {"b":\n 2}, 3]', encoding="utf-8")
    assert places(path) == ["a.json:2 (record 0)", "a.json:4 (record 1)", "a.json:5 (record 2)"]


BAD = [
    ("", "is not a JSON array or object"),
    ('"text"', "is not a JSON array or object"),
    ("[", "ends in the middle of record 0"),
    ('[{"a": 1}', "ends after record 0; expected ]"),
    ('[{"a": 1}, {"b": ', "ends in the middle of record 1"),
    ('["half a text', "ends in the middle of record 0"),
    ("[1, 2,]", "is not JSON"),
    ('{"a": 1,}', "expected a name in quotes"),
    ('{"a" 1}', "expected : after a name"),
    ("[1 2]", "expected , or ] after record 0"),
    ("[1] 2", "something follows the end"),
    ("[NaN]", "NaN is not a JSON number"),
    ("[" + "9" * 5_000 + "]", "record 0 is not JSON"),
    ("[" * 200_000, "record 0 is nested too deeply"),
    ("[{'a': 1}, " + "1, " * 500 + "1]", "is not JSON: Expecting property name"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[message for _, message in BAD])
def test_what_is_no_json_is_one_error_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        elements(path)
    assert message in caught.value.message
    assert str(caught.value.where).startswith(f"{path}:")


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'["a", "\xff"]')
    with pytest.raises(InputError, match="is not UTF-8"):
        elements(path)


def test_a_record_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_reading, "LONGEST_LINE", 10_000)
    monkeypatch.setattr(json_reading, "_CHUNK", 512)
    path = tmp_path / "a.json"
    path.write_text('[1, "' + "x" * 200_000, encoding="utf-8")
    with pytest.raises(InputError, match="record 1 is longer than 10,000 characters, or never ends"):
        elements(path)


def test_damage_of_any_kind_ends_in_what_loading_says_or_an_error(tmp_path: Path) -> None:
    chance = random.Random(5)
    whole = json.dumps([{"a": [1, "two", None, 3.5e3]}, {"b": "ü\n"}, []], ensure_ascii=False, indent=1).encode()
    path = tmp_path / "a.json"
    agreed = 0
    for _ in range(600):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 2])):
            data[chance.randrange(len(data))] = chance.choice(b'[]{},:"019 eE.-\\ntu\xff')
        path.write_bytes(data)
        try:
            expected = json.loads(data.decode(), parse_constant=lambda name: 1 / 0)
            expected = list(expected.items() if isinstance(expected, dict) else enumerate(expected))
        except (ValueError, TypeError, ZeroDivisionError):
            expected = None
        try:
            found = elements(path)
        except InputError:
            found = None
        assert found == expected
        agreed += expected is not None
    assert agreed > 30


def test_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\n[1]\n{"b": 2}\n{"c": "' + b"x" * 100 + b'"}\nnull\n{"d": 3}')
    files = source_files(str(path), "*", expected="JSON", options=OPTIONS)
    monkeypatch.setattr(lines, "LONGEST_LINE", 50)
    report = Report()
    found = [(place.shown, value) for place, value in json_lines(files, report, ReadOptions(skip_bad=True))]
    assert found == [("a.jsonl:1", {"a": 1}), ("a.jsonl:4", {"b": 2}), ("a.jsonl:7", {"d": 3})]
    assert report.skipped["malformed records"].count == 3
    assert report.skipped["malformed records"].first == "a.jsonl:3: holds a list; expected an object"
    with pytest.raises(InputError, match=r"a\.jsonl:3: holds a list; expected an object"):
        list(json_lines(files, Report(), OPTIONS))
