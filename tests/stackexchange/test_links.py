"""Links of a corpus, beside a plain definition; in three kinds of files, with counts; of any corpus."""

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tertulia.artefact import Manifest
from tertulia.corpus.model import Dialogue, Record, Utterance
from tertulia.corpus.store import write_corpus
from tertulia.crawl.listing import read_addresses
from tertulia.errors import ArtefactError, InputError
from tertulia.stackexchange.links import Link, LinkCounts, links_of, write_links


def said(position: int, role: str | None, text: str, links: object = None) -> Utterance:
    return Utterance(position, position, f"p{role}", text, role, attributes={} if links is None else {"links": links})


THREADS = [
    Dialogue(
        "beer-1-2",
        [
            said(0, "user", "How cold? http://asked.example/"),
            said(
                1,
                "agent",
                "Cellar cold (http://A.example/cellar#temperature), see also http://a.example/cellar and http://b.example/x.",
                ["http://a.example/cellar", "http://me:word@a.example/", "HTTPS://C.example"],
            ),
            said(2, "user", "Thanks"),
            said(3, "agent", "And http://a.example/cellar again"),
        ],
        "beer",
    ),
    Dialogue("beer-1-3", [said(0, None, "a self-dialogue with http://d.example/")], "beer"),
    Dialogue(
        "wine-7-8", [said(0, "user", "x"), said(1, "agent", "nothing", "not a list"), said(2, "agent", "", [7, None])]
    ),
]
EXPECTED = [
    Link("http://a.example/cellar", "beer-1-2", 1, "href", "beer"),
    Link("https://c.example/", "beer-1-2", 1, "href", "beer"),
    Link("http://b.example/x", "beer-1-2", 1, "bare", "beer"),
    Link("http://a.example/cellar", "beer-1-2", 3, "bare", "beer"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("links") / "threads"
    write_corpus(path, (Record(thread) for thread in reversed(THREADS)), Manifest("corpus"))
    return path


def test_links_of_utterances() -> None:
    found = [link for thread in THREADS for link in links_of(thread)]
    assert [link for link in found if link is not None] == EXPECTED
    assert found.count(None) == 1
    users = [link.url for thread in THREADS for link in links_of(thread, "user") if link]
    assert users == ["http://asked.example/"]
    everybody = [link.url for thread in THREADS for link in links_of(thread, "any") if link]
    assert everybody == [users[0], *(link.url for link in EXPECTED), "http://d.example/"]


def test_references_in_html() -> None:
    thread = Dialogue(
        "x", [said(0, "agent", '<a href="http://a.example/?a=1&amp;b=2">x</a>', ["http://a.example/?a=1&b=2"])]
    )
    assert [link.url for link in links_of(thread, text_is_html=True) if link] == ["http://a.example/?a=1&b=2"]
    assert [link.kind for link in links_of(thread) if link] == ["href", "bare"]


@pytest.mark.parametrize("suffix", [".jsonl", ".tsv", ".parquet", ""])
def test_files_of_links(corpus: Path, tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"links{suffix}"
    counts = write_links(corpus, output)
    assert counts == LinkCounts(4, 3, 3, 2, 1, {"href": 2, "bare": 2})
    if suffix == ".parquet":
        rows = [Link(**row) for row in pq.read_table(output).to_pylist()]
    elif suffix == ".tsv":
        head, *lines = output.read_text(encoding="utf-8").splitlines()
        assert head.split("\t") == list(Link._fields)
        cells = [line.split("\t") for line in lines]
        rows = [Link(url, identifier, int(at), kind, domain or None) for url, identifier, at, kind, domain in cells]
    else:
        rows = [Link(**json.loads(line)) for line in output.read_text(encoding="utf-8").splitlines()]
    assert rows == EXPECTED
    assert list(read_addresses(output)) == [link.url for link in EXPECTED]
    again = tmp_path / f"again{suffix}"
    write_links(corpus, again)
    assert again.read_bytes() == output.read_bytes()


def test_nothing_is_overwritten_unasked(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "links"
    output.write_text("mine")
    with pytest.raises(ArtefactError, match="exists already"):
        write_links(corpus, output)
    assert output.read_text() == "mine"
    write_links(corpus, output, overwrite=True)
    assert len(output.read_text().splitlines()) == 4
    with pytest.raises(ArtefactError, match="folder"):
        write_links(corpus, tmp_path, overwrite=True)
    with pytest.raises(InputError):
        write_links(tmp_path / "none", tmp_path / "x")
    assert sorted(os.listdir(tmp_path)) == ["links"]


def test_odd_ids_stay_in_their_column(tmp_path: Path) -> None:
    path = tmp_path / "odd"
    thread = Dialogue("a\tb\nc", [said(0, "agent", "http://a.example/")], "x\ty")
    write_corpus(path, [Record(thread)], Manifest("corpus"))
    write_links(path, tmp_path / "links.tsv")
    assert (tmp_path / "links.tsv").read_text().splitlines()[1] == "http://a.example/\ta\\tb\\nc\t0\tbare\tx\\ty"
