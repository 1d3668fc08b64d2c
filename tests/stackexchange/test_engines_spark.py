"""Spark as the engine: on a real cluster it gives what DuckDB and the plain definition give, and it fails in one line."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tertulia.errors import StoreError
from tertulia.stackexchange.criteria import CRITERIA
from tertulia.stackexchange.engines import Engine, open_engine
from tertulia.stackexchange.engines.spark import SparkEngine
from tertulia.stackexchange.narrow import narrow

from .narrow_plainly import Row, Site, answer, comment, narrow_plainly, question, read_threads, write_tables
from .spark_cluster import SETTINGS, Cluster
from .test_narrow import EMPTY, GOOD, counts

pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("spark")]


@pytest.fixture(scope="module")
def on_cluster(spark_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    work = tmp_path_factory.mktemp("spark")
    with SparkEngine(work, master=spark_cluster.url, memory=600_000_000, settings=SETTINGS) as engine:
        yield engine


def two_dumps(seed: int) -> dict[str, list[Row]]:
    """Two dumps of invented threads: few people, so that they meet again, and all kinds of gaps."""
    chance = random.Random(seed)
    rows: dict[str, list[Row]] = {name: [] for name in EMPTY}
    people = ["1", "2", "3", "-1", "~gone"]
    for site in (0, 1):
        for number in range(-3, 120):
            post = {
                "site": site,
                "score": chance.choice([None, -3, 0, 10**17]),
                "body": chance.choice([None, "", 'it\'s a "kettle" \\ 日本 𝔘\n']),
                "marked": chance.random() < 0.1,
                "linked": chance.random() < 0.4,
                "edited_at": chance.choice([None, 7]),
                "name": chance.choice([None, "Tea \u0301"]),
            }
            if number % 4 == 0:
                rows["posts"].append(question(number, chance.choice(people), accepted=number + 1, tags="<tea>", **post))
            else:
                rows["posts"].append(answer(number, number // 4 * 4, chance.choice(people), **post))
        for number in range(400):
            said = {"site": site, "created": chance.randrange(5), "linked": chance.random() < 0.2, "score": None}
            rows["comments"].append(comment(number, chance.randrange(120), chance.choice(people), **said))
        rows["users"] += [{"site": site, "id": user, "name": name} for user, name in ((1, "Ada"), (2, None), (9, "x"))]
        rows["votes"] += [{"site": site, "post": chance.randrange(120), "type": 4} for _ in range(5)]
        rows["history"] += [{"site": site, "post": chance.randrange(120)} for _ in range(30)]
    return rows


@pytest.mark.parametrize(
    ("edited", "criteria"), [("marker", CRITERIA), ("history", ()), ("history", ("grounded", "positive-ending"))]
)
def test_a_cluster_gives_what_duckdb_and_the_plain_definition_give(
    edited: str,
    criteria: tuple[str, ...],
    on_cluster: Engine,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    rows = two_dumps(7)
    sites = [Site("tea", {"history": None}), Site("coffee")]
    tables = write_tables(tmp_path / "tab les [1] {a,b} %20 é", rows, files=3)
    expected, threads = narrow_plainly(rows, criteria, edited, sites)
    assert len(threads) > 10
    options = {"criteria": criteria, "edited": edited, "sites": sites}
    found = narrow(tables, tmp_path / "o [1]", engine=on_cluster, **options)
    assert counts(found) == expected
    assert read_threads(found.threads) == threads
    assert capfd.readouterr() == ("", "")
    with open_engine("duckdb", work=tmp_path / "spill", workers=2) as engine:
        other = narrow(tables, tmp_path / "duck", engine=engine, **options)
    assert counts(other) == expected
    assert read_threads(other.threads) == threads


def test_a_cluster_and_tables_without_rows(on_cluster: Engine, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables", EMPTY)
    found = narrow(tables, tmp_path / "out", criteria=CRITERIA, edited="marker", engine=on_cluster)
    assert found.candidates == 0
    assert read_threads(found.threads) == []


def test_shares_on_spark(on_cluster: Engine, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables", GOOD)
    comments = on_cluster.read(tables["comments"])
    shared = comments.select("id", share=(comments.id % 2).cast("int32"))
    shares = on_cluster.write_shares(shared, tmp_path / "shares", "share", 3)
    found = [sorted(row["id"] for row in on_cluster.execute(on_cluster.read(paths)).to_pylist()) for paths in shares]
    assert found == [[2], [1, 3], []]


def test_a_file_that_the_workers_do_not_see_is_one_error(on_cluster: Engine, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables", GOOD)
    table = on_cluster.read(tables["posts"])
    tables["posts"][0].unlink()
    with pytest.raises(StoreError, match=r"Spark could not go on: .*does not exist.*\(every worker must see the cache"):
        on_cluster.write(table, tmp_path / "out")
