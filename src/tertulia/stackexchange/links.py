"""The web addresses in the utterances of a corpus: what its answers are grounded in, and what a crawl may fetch."""

from __future__ import annotations

import hashlib
import html
import json
from array import array
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from tertulia.artefact import put_in_place, work_directory
from tertulia.corpus.model import Dialogue
from tertulia.corpus.store import Corpus
from tertulia.crawl.addresses import AddressError, address_of, urls_in
from tertulia.errors import ArtefactError

__all__ = ["Link", "LinkCounts", "WhoseLinks", "links_of", "write_links"]

WhoseLinks = Literal["agent", "user", "any"]
"""Whose utterances are looked at: the provider's, the seeker's, or everybody's."""
_ROWS = 10_000


class Link(NamedTuple):
    """An address in an utterance; ``kind`` is ``href`` for one of the utterance's attribute ``links``, ``bare`` for one that only
    its text has; ``url`` is in the form in which the table of a crawl knows it (without fragment, host in lower case)."""

    url: str
    dialogue_id: str
    position: int
    kind: Literal["href", "bare"]
    domain: str | None


@dataclass(slots=True)
class LinkCounts:
    """How many links were written, how many addresses on how many hosts they are, in how many utterances.

    An address in two utterances is two links; ``unusable`` counts what is no address that could be asked for.
    """

    links: int = 0
    urls: int = 0
    hosts: int = 0
    utterances: int = 0
    unusable: int = 0
    kinds: dict[str, int] = field(default_factory=lambda: {"href": 0, "bare": 0})


def links_of(dialogue: Dialogue, whose: WhoseLinks = "agent", *, text_is_html: bool = False) -> Iterator[Link | None]:
    """The addresses of a dialogue, in order, each once an utterance; ``None`` for each that cannot be used.

    Links come first, then what stands in the text alone. ``text_is_html`` resolves references such as ``&amp;`` in the text.
    """
    for utterance in dialogue.utterances:
        if whose not in ("any", utterance.role):
            continue
        seen: set[str] = set()
        links = utterance.attributes.get("links")
        found = [(url, "href") for url in links if isinstance(url, str)] if isinstance(links, list) else []
        text = html.unescape(utterance.text) if text_is_html else utterance.text
        found += [(url, "bare") for url in urls_in(text)]
        for raw, kind in found:
            try:
                url = address_of(raw).url
            except AddressError:
                if raw not in seen:
                    seen.add(raw)
                    yield None
                continue
            if url not in seen:
                seen.add(url)
                yield Link(url, dialogue.id, utterance.position, kind, dialogue.domain)  # type: ignore[arg-type]


def write_links(
    corpus: str | Path,
    output: str | Path,
    *,
    whose: WhoseLinks = "agent",
    overwrite: bool = False,
    progress: Callable[[int, int | None], None] = lambda _step, _total: None,
) -> LinkCounts:
    """Write the links of a corpus, in its order, as JSON Lines, or where the file's name ends so as ``.tsv`` or ``.parquet``.

    Streams: memory holds a dialogue, and 8 bytes for each distinct address. ``progress`` is told of dialogues.

    Raises
    ------
    ArtefactError
        ``output`` exists and ``overwrite`` is not given, or cannot be written; the corpus is damaged.
    """
    target = Path(output)
    if target.is_dir():
        raise ArtefactError("is a folder; expected the path of a file to write", where=target)
    if target.exists() and not overwrite:
        raise ArtefactError("exists already", where=target, hint="--overwrite replaces it")
    counts = LinkCounts()
    urls, hosts = _Distinct(), _Distinct()
    with Corpus(corpus) as source, work_directory(target) as work:
        text_is_html = source.manifest.options.get("text") == "html"
        total = len(source)
        with _writer(work / "links", target.suffix.lower()) as writer:
            for dialogue in source.dialogues():
                last = -1
                for link in links_of(dialogue, whose, text_is_html=text_is_html):
                    if link is None:
                        counts.unusable += 1
                        continue
                    writer.add(link)
                    counts.links += 1
                    counts.kinds[link.kind] += 1
                    counts.utterances += link.position != last
                    last = link.position
                    urls.add(link.url)
                    hosts.add(address_of(link.url).host)
                progress(1, total)
        put_in_place(work / "links", target)
    counts.urls, counts.hosts = len(urls), len(hosts)
    return counts


class _Distinct:
    """Counts distinct texts by 64 bits of each: 8 bytes a text, and one in some ten million is missed among a million."""

    def __init__(self) -> None:
        self._known = np.empty(0, np.uint64)
        self._new = array("Q")

    def add(self, text: str) -> None:
        self._new.append(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"))
        if len(self._new) >= 1 << 20:
            self._merge()

    def _merge(self) -> None:
        self._known = np.union1d(self._known, np.frombuffer(self._new, np.uint64))
        self._new = array("Q")

    def __len__(self) -> int:
        self._merge()
        return len(self._known)


class _Writer(Protocol):
    def add(self, link: Link) -> None: ...


def _writer(path: Path, suffix: str) -> AbstractContextManager[_Writer]:
    return _parquet(path) if suffix == ".parquet" else _lines(path, columns=suffix == ".tsv")


class _Lines:
    def __init__(self, file: Any, columns: bool) -> None:
        self._file = file
        self._columns = columns
        if columns:
            file.write("\t".join(Link._fields) + "\n")

    def add(self, link: Link) -> None:
        if self._columns:
            line = "\t".join("" if value is None else _cell(str(value)) for value in link)
        else:
            line = json.dumps(link._asdict(), ensure_ascii=False, separators=(",", ":"))
        self._file.write(line + "\n")


def _cell(text: str) -> str:
    """A value that may stand in a column: its tabs and line breaks are written as in C."""
    return text if text.isprintable() else text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


@contextmanager
def _lines(path: Path, *, columns: bool) -> Iterator[_Lines]:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        yield _Lines(file, columns)


class _Table:
    def __init__(self, writer: Any, schema: Any) -> None:
        self._writer = writer
        self._schema = schema
        self._rows: list[Link] = []

    def add(self, link: Link) -> None:
        self._rows.append(link)
        if len(self._rows) >= _ROWS:
            self.flush()

    def flush(self) -> None:
        import pyarrow as pa

        if self._rows:
            rows = [link._asdict() for link in self._rows]
            self._writer.write_table(pa.Table.from_pylist(rows, schema=self._schema))
            self._rows = []


@contextmanager
def _parquet(path: Path) -> Iterator[_Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.string()
    kinds = (text, text, pa.int32(), text, text)
    schema = pa.schema(list(zip(Link._fields, kinds, strict=True)))
    with pq.ParquetWriter(path, schema, compression="zstd", version="2.6") as writer:
        table = _Table(writer, schema)
        yield table
        table.flush()
