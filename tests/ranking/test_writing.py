"""Both ways of writing a set leave the same records, and row groups that one record is read from."""

from pathlib import Path

import pytest

from tertulia.artefact import Manifest, create
from tertulia.corpus.collection import describe_tables
from tertulia.corpus.model import Context, Turn
from tertulia.corpus.ranking_set import RankingSet
from tertulia.corpus.ranking_tables import RANKING_RECORDS
from tertulia.errors import InputError
from tertulia.ranking import writing
from tertulia.ranking.spool import Spool
from tertulia.ranking.writing import ColumnWriter, Entry, RecordWriter


def entries() -> list[Entry]:
    return [
        Entry(
            Context(f"c{i:03d}", [Turn("user", "ask"), Turn("agent", f"tell {i}")] * (i % 4), f"d{i}", None, "train"),
            [(i * 7 + j) % 50 for j in range(i % 6)],
            min(i % 6, 1 + i % 2),
        )
        for i in range(120)
    ]


@pytest.mark.parametrize(("rows", "size"), [(16_384, 1 << 22), (10, 1 << 22), (16_384, 300)])
def test_both_writers_write_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, size: int) -> None:
    monkeypatch.setattr(writing, "_GROUP_ROWS", rows)
    monkeypatch.setattr(writing, "_GROUP_BYTES", size)
    texts, sources = Spool(tmp_path / "texts"), Spool(tmp_path / "sources")
    for number in range(50):
        texts.append("" if number == 3 else f"Text № {number} 的 \U0001f37a\n" * (number % 5 + 1))
        sources.append(f"d{number}#1")
    found = []
    for kind in (ColumnWriter, RecordWriter):
        with create(tmp_path / kind.__name__, Manifest("ranking-set")) as draft:
            writer = kind(draft.directory, texts, sources)
            for entry in entries():
                writer.add(entry)
            writer.close()
            writer.abandon()
            draft.manifest.counts = dict(writer.counts)
            describe_tables(draft.directory, RANKING_RECORDS, draft.manifest)
        with RankingSet(tmp_path / kind.__name__) as made:
            found.append((list(made.records()), made.manifest.counts))
            assert made.get("c077") == found[-1][0][77]
            if rows == 10:
                assert (
                    made.row_groups("candidates") >= 1 if kind is RecordWriter else made.row_groups("candidates") > 10
                )
    assert found[0] == found[1]
    assert found[0][0][77].candidates[0].text == texts[(77 * 7) % 50]
    texts.close()
    sources.close()


def test_a_spool_of_nothing_and_of_half_a_pair(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "texts")
    assert spool.to_arrow().to_pylist() == []
    spool.close()
    spool = Spool(tmp_path / "others")
    spool.append("")
    assert (spool.to_arrow().to_pylist(), spool[0], len(spool)) == ([""], "", 1)
    with pytest.raises(InputError, match="half of a surrogate pair"):
        spool.append("\udc80")
    spool.close()
