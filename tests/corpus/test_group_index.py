"""The index of row groups: a footer of one group says of it what the whole footer says, and leads to the same rows."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.artefact import Manifest
from tertulia.corpus import grouped
from tertulia.corpus.group_index import INDEX_FILE, GroupIndex, index_of, read_index
from tertulia.corpus.store import Corpus, write_corpus
from tertulia.errors import ArtefactError

from .test_tables import made_up

KINDS = [pa.string(), pa.int32(), pa.float64(), pa.bool_(), pa.timestamp("us", tz="UTC"), pa.list_(pa.int64())]


@settings(max_examples=40, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=20),
    groups=st.integers(0, 40),
    statistics=st.booleans(),
    checksum=st.booleans(),
    page_index=st.booleans(),
    codec=st.sampled_from(["zstd", "snappy", "none"]),
)
def test_the_footer_of_one_group_is_a_part_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory,
    kinds: list[pa.DataType],
    groups: int,
    statistics: bool,
    checksum: bool,
    page_index: bool,
    codec: str,
) -> None:
    path = tmp_path_factory.mktemp("p") / "t.parquet"
    schema = pa.schema([("key", pa.string()), *((f"c{number}", kind) for number, kind in enumerate(kinds))])
    with pq.ParquetWriter(
        path,
        schema,
        compression=codec,
        write_statistics=statistics,
        write_page_checksum=checksum,
        write_page_index=page_index,
    ) as writer:
        for group in range(groups):
            rows = group % 3 + 1
            columns = [pa.array([f"{group:04d}-{row}" for row in range(rows)])]
            columns += [pa.nulls(rows, kind) if group % 2 else pa.array([None] * rows, kind) for kind in kinds]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    whole = pq.ParquetFile(path)
    last = [f"{group:04d}-{group % 3}" for group in range(groups)]
    index = GroupIndex(index_of(path, last))
    for group in range(groups):
        alone = index.metadata(path, group)
        assert alone.num_row_groups == 1
        assert alone.row_group(0).to_dict() == whole.metadata.row_group(group).to_dict()
        assert alone.schema.equals(whole.metadata.schema)
        found = pq.ParquetFile(path, metadata=alone).read_row_group(0)
        assert found.equals(whole.read_row_group(group))
        assert index.group_of(last[group].encode()) == group
        assert index.group_of(f"{group:04d}-".encode()) == group
    assert index.group_of(b"9999") is None
    whole.close()


def test_by_the_index_and_by_the_footers_the_same_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "_GROUP_ROWS", 9)
    records = made_up(120)
    with write_corpus(tmp_path / "c", records, Manifest("corpus")) as corpus:
        assert set(read_index(tmp_path / "c", corpus.manifest.details["index"])) == {
            "dialogues",
            "utterances",
            "annotations",
        }
        assert corpus.row_groups("utterances") > 20
        plain: grouped.GroupedReader[object] = grouped.GroupedReader(corpus.layout, tmp_path / "c")
        for record in records:
            assert corpus.get(record.dialogue.id) == record
            assert plain.get(record.dialogue.id) == record
        plain.close()


def test_a_damaged_index_is_one_clear_error(tmp_path: Path) -> None:
    write_corpus(tmp_path / "c", made_up(5), Manifest("corpus")).close()
    path = tmp_path / "c" / INDEX_FILE
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ArtefactError, match=r"groups\.json: is damaged"):
        Corpus(tmp_path / "c")
