"""Narrowing on DuckDB beside its plain definition."""

import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.errors import InputError, StoreError
from tertulia.stackexchange.criteria import CRITERIA
from tertulia.stackexchange.engines import Engine, open_engine
from tertulia.stackexchange.narrow import Narrowed, narrow

from .narrow_plainly import (
    Row,
    Site,
    answer,
    comment,
    narrow_plainly,
    question,
    read_threads,
    write_tables,
)

EMPTY: dict[str, list[Row]] = {name: [] for name in ("posts", "comments", "votes", "users", "history")}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine("duckdb", work=tmp_path / "spill", workers=2) as opened:
        yield opened


def counts(narrowed: Narrowed) -> Narrowed:
    return dataclasses.replace(narrowed, threads=[])


def compare(
    folder: Path,
    engine: Engine,
    rows: dict[str, list[Row]],
    criteria: Sequence[str] = CRITERIA,
    edited: Any = "marker",
    sites: Sequence[Site] = (),
    files: int = 1,
) -> tuple[Narrowed, list[Row]]:
    """Narrow, hold it against the plain definition, and return what it gave."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        tables = write_tables(Path(name) / "tables", rows, files=files)
        found = narrow(tables, Path(name) / "out", criteria=criteria, edited=edited, engine=engine, sites=sites)
        threads = read_threads(found.threads)
        assert not (Path(name) / "out" / "narrowing").exists()
    expected, expected_threads = narrow_plainly(rows, criteria, edited, sites)
    assert counts(found) == expected
    assert threads == expected_threads
    return found, threads


# A thread that meets all criteria; each case below breaks one.
GOOD: dict[str, list[Row]] = EMPTY | {
    "posts": [question(1, "10"), answer(2, 1, "20", linked=True)],
    "comments": [comment(1, 2, "10"), comment(2, 2, "20"), comment(3, 2, "10")],
    "users": [{"site": 0, "id": 10, "name": "Ada"}, {"site": 0, "id": 30, "name": "Eve"}],
}


def with_comments(*comments: Row) -> dict[str, list[Row]]:
    return GOOD | {"comments": list(comments)}


def test_a_thread_that_meets_all(tmp_path: Path, engine: Engine) -> None:
    found, threads = compare(tmp_path, engine, GOOD)
    assert found.masks == {(0b11111, True): 1}
    assert (found.questions, found.answers, found.candidates) == (1, 1, 1)
    assert (threads[0]["seeker_name"], threads[0]["provider_name"]) == ("Ada", None)
    assert [said["text"] for said in threads[0]["comments"]] == ["comment 1", "comment 2", "comment 3"]


@pytest.mark.parametrize(
    ("rows", "mask", "seeker_last"),
    [
        (with_comments(*GOOD["comments"], comment(4, 2, "30")), 0b11110, False),
        # The first comment is the provider's: it goes on with the answer.
        (with_comments(comment(1, 2, "20"), comment(2, 2, "10")), 0b11101, True),
        (with_comments(comment(1, 2, "10"), comment(2, 2, "20")), 0b11111, False),
        (with_comments(), 0b11101, False),
        (GOOD | {"posts": [question(1, "10", linked=True), answer(2, 1, "20")]}, 0b11011, True),
        (GOOD | {"votes": [{"site": 0, "post": 1, "type": 4}]}, 0b10111, True),
        (GOOD | {"votes": [{"site": 0, "post": 2, "type": 12}, {"site": 0, "post": 2, "type": 4}]}, 0b10111, True),
        (with_comments(*GOOD["comments"][:2], comment(3, 2, "10", marked=True)), 0b01111, True),
        # A deleted user is known by the name; without a name by the post alone.
        (
            EMPTY
            | {
                "posts": [question(1, "~gone"), answer(2, 1, "?p2", linked=True)],
                "comments": [comment(5, 2, "~gone"), comment(6, 2, "?c6")],
            },
            0b11100,
            False,
        ),
        # Time goes before number, and number decides between two of one time.
        (
            with_comments(
                comment(9, 2, "10", created=1), comment(8, 2, "20", created=2), comment(7, 2, "10", created=2)
            ),
            0b11111,
            False,
        ),
    ],
)
def test_each_criterion(
    rows: dict[str, list[Row]], mask: int, seeker_last: bool, tmp_path: Path, engine: Engine
) -> None:
    found, _ = compare(tmp_path, engine, rows)
    assert found.masks == {(mask, seeker_last): 1}


def test_what_is_no_candidate_is_counted(tmp_path: Path, engine: Engine) -> None:
    posts = [
        question(1, "10"),
        answer(2, 1, "10"),
        answer(3, 1, "20"),
        answer(4, 99, "20"),
        answer(5, 3, "20"),
        answer(6, None, "20"),
    ]
    found, _ = compare(tmp_path, engine, EMPTY | {"posts": posts}, ())
    assert (found.questions, found.answers, found.orphans, found.own, found.candidates) == (1, 2, 3, 1, 1)


def test_without_rows_there_is_one_empty_file(tmp_path: Path, engine: Engine) -> None:
    tables = write_tables(tmp_path / "tables", EMPTY)
    found = narrow(tables, tmp_path / "out", criteria=CRITERIA, edited="marker", engine=engine)
    assert counts(found) == Narrowed(0, 0, 0, 0, 0, {}, [])
    assert len(found.threads) == 1
    assert read_threads(found.threads) == []


def test_an_earlier_run_leaves_nothing_behind(tmp_path: Path, engine: Engine) -> None:
    tables = write_tables(tmp_path / "tables", GOOD)
    first = narrow(tables, tmp_path / "out", criteria=CRITERIA, edited="marker", engine=engine)
    again = narrow(tables, tmp_path / "out", criteria=CRITERIA, edited="marker", engine=engine)
    assert again == first
    assert sorted((tmp_path / "out").rglob("*.parquet")) == sorted(again.threads)


def test_history_where_there_is_one_and_the_last_edit_where_there_is_none(tmp_path: Path, engine: Engine) -> None:
    rows: dict[str, list[Row]] = {name: [] for name in EMPTY}
    for site in (0, 1):
        rows["posts"] += [
            question(1, "10", site=site),
            answer(2, 1, "20", site=site, marked=True),
            answer(3, 1, "20", site=site, edited_at=5),
        ]
    rows["history"] = [{"site": 0, "post": 2}, {"site": 0, "post": 2}, {"site": 0, "post": 77}]
    sites = [Site("with", {"history": None}), Site("without")]
    _, threads = compare(tmp_path, engine, rows, (), "history", sites)
    edited = {(row["site"], row["answer"]) for row in threads if not row["mask"] & 16}
    assert edited == {(0, 2), (1, 3)}


def test_a_question_of_a_survivor_is_not_given_to_its_other_answers(tmp_path: Path, engine: Engine) -> None:
    rows = GOOD | {
        "posts": [*GOOD["posts"], answer(3, 1, "30")],
        "comments": [*GOOD["comments"], comment(4, 3, "30"), comment(5, 3, "10"), comment(6, 3, "10")],
    }
    _, threads = compare(tmp_path, engine, rows)
    assert [row["q_body"] for row in threads] == ["<p>body of 1</p>", None]
    assert [said["id"] for said in threads[1]["comments"]] == [5, 6]


@pytest.mark.parametrize("table", ["posts", "comments", "users"])
def test_an_id_that_stands_twice(table: str, tmp_path: Path, engine: Engine) -> None:
    rows = GOOD | {table: [*GOOD[table], GOOD[table][-1], GOOD[table][0]]}
    tables = write_tables(tmp_path / "tables", rows, files=2)
    with pytest.raises(InputError) as caught:
        narrow(tables, tmp_path / "out", criteria=CRITERIA, edited="marker", engine=engine, sites=[Site("tea.meta")])
    message = str(caught.value)
    assert message.startswith(f"tea.meta: the dump has two {table} with the id {GOOD[table][0]['id']}, and 1 more")
    assert not (tmp_path / "out" / "narrowing").exists()


def test_the_same_id_in_two_dumps_is_no_matter(tmp_path: Path, engine: Engine) -> None:
    rows = {name: [row | {"site": site} for site in (0, 1) for row in GOOD[name]] for name in GOOD}
    found, _ = compare(tmp_path, engine, rows)
    assert found.masks == {(0b11111, True): 2}


def test_shares_change_nothing(tmp_path: Path, engine: Engine) -> None:
    rows: dict[str, list[Row]] = {name: [] for name in EMPTY}
    for number in range(-40, 40):
        low = number * 10
        rows["posts"] += [question(low, "1"), answer(low + 1, low, "2", linked=number % 3 > 0)]
        rows["comments"] += [comment(low + i, low + 1, "12"[i % 2]) for i in range(1 + number % 4)]
    one, threads = compare(tmp_path, engine, rows, files=3)
    engine.share = 7
    tables = write_tables(tmp_path / "tables", rows)
    many = narrow(tables, tmp_path / "out", criteria=CRITERIA, edited="marker", engine=engine)
    assert counts(many) == counts(one)
    assert read_threads(many.threads) == threads
    assert len(many.threads) > 10


def test_paths_that_look_like_patterns_and_columns(tmp_path: Path, engine: Engine) -> None:
    folder = tmp_path / "site=7" / "it's [all] {one} *?% name"
    tables = write_tables(folder, GOOD)
    found = narrow(tables, folder / "out", criteria=CRITERIA, edited="marker", engine=engine)
    assert [row["site"] for row in read_threads(found.threads)] == [0]


def test_a_damaged_table_is_one_error(tmp_path: Path, engine: Engine) -> None:
    tables = write_tables(tmp_path / "tables", GOOD)
    tables["posts"][0].write_bytes(tables["posts"][0].read_bytes()[:200])
    with pytest.raises(StoreError, match=r"DuckDB could not go on: .*\(where the cache is damaged"):
        narrow(tables, tmp_path / "out", criteria=CRITERIA, edited="marker", engine=engine)


def test_too_little_memory_is_one_error(tmp_path: Path) -> None:
    rows = GOOD | {"posts": [question(n, str(n), body="x" * 5000) for n in range(1, 3000)]}
    rows["posts"] += [answer(10_000 + n, n, "x", body="y" * 5000) for n in range(1, 3000)]
    tables = write_tables(tmp_path / "tables", rows)
    with (
        pytest.raises(StoreError, match="fewer workers need less"),
        open_engine("duckdb", work=tmp_path / "spill", workers=2, memory=1_000_000) as engine,
    ):
        narrow(tables, tmp_path / "out", criteria=(), edited="marker", engine=engine)


PEOPLE = st.sampled_from(["1", "2", "3", "-1", "~gone", "?x"])
TEXT = st.sampled_from([None, "", "a", "b <i>'quoted'</i> \"x\"", "日本 𝔘\u0301"])
FLAG = st.sampled_from([False, False, True])
SITE = st.integers(0, 1)
NUMBER = st.sampled_from([None, -(10**17), -1, 0, 7, 10**17])


@st.composite
def dumps(draw: st.DrawFn) -> dict[str, list[Row]]:
    """Two small dumps: few ids, few people and few times, so that everything meets everything."""
    rows: dict[str, list[Row]] = {name: [] for name in EMPTY}

    def common() -> Row:
        return {"score": draw(NUMBER), "name": draw(TEXT), "licence": draw(TEXT), "linked": draw(FLAG),
                "marked": draw(FLAG), "created": draw(st.integers(-2, 2))}  # fmt: skip

    for site, identifier in draw(st.sets(st.tuples(SITE, st.integers(-2, 20)), max_size=30)):
        post = {"site": site, "edited_at": draw(NUMBER), "body": draw(TEXT), "tags": draw(TEXT)} | common()
        if draw(st.booleans()):
            rows["posts"].append(question(identifier, draw(PEOPLE), accepted=draw(NUMBER), **post))
        else:
            rows["posts"].append(
                answer(identifier, draw(st.one_of(st.none(), st.integers(-2, 20))), draw(PEOPLE), **post)
            )
    answers = [(row["site"], row["id"]) for row in rows["posts"] if row["type"] == 2] or [(0, 1)]
    for site, identifier in draw(st.sets(st.tuples(SITE, st.integers(-2, 60)), max_size=50)):
        post_site, post_id = draw(st.sampled_from(answers))
        more = {"site": post_site, "text": draw(TEXT)} | common()
        rows["comments"].append(comment(identifier + 100 * site, post_id, draw(PEOPLE), **more))
    posts = st.tuples(SITE, st.integers(-2, 20))
    rows["votes"] = [{"site": s, "post": p, "type": 4} for s, p in draw(st.lists(posts, max_size=4))]
    rows["history"] = [{"site": s, "post": p} for s, p in draw(st.lists(posts, max_size=6))]
    rows["users"] = [
        {"site": s, "id": i, "name": draw(TEXT)}
        for s, i in draw(st.sets(st.tuples(SITE, st.integers(-1, 3)), max_size=5))
    ]
    return rows


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with open_engine("duckdb", work=tmp_path_factory.mktemp("spill"), workers=2) as opened:
        yield opened


@settings(max_examples=20, deadline=None)
@given(
    rows=dumps(),
    criteria=st.lists(st.sampled_from(CRITERIA), unique=True),
    edited=st.sampled_from(["marker", "history"]),
    histories=st.lists(st.booleans(), min_size=2, max_size=2),
    files=st.integers(1, 3),
    share=st.sampled_from([20, 400_000]),
)
def test_any_dump_is_narrowed_as_the_plain_definition_says(
    lasting: Engine,
    rows: dict[str, list[Row]],
    criteria: list[str],
    edited: str,
    histories: list[bool],
    files: int,
    share: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    sites = [Site(str(number), {"history": None} if has else {}) for number, has in enumerate(histories)]
    lasting.share = share
    compare(tmp_path_factory.getbasetemp(), lasting, rows, criteria, edited, sites, files)
