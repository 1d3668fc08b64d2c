"""The corpus on disk: what goes in comes out, from streams of any order, one by one, and not when it is damaged."""

import hashlib
import math
import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.artefact import Manifest
from tertulia.corpus import grouped, sorting, tables
from tertulia.corpus.grouped import GroupedReader
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.corpus.statistics.dialogues import corpus_statistics
from tertulia.corpus.store import Corpus, CorpusWriter, write_corpus
from tertulia.corpus.tables import TABLES, TableReader
from tertulia.errors import ArtefactError, InputError, TertuliaError

from ..conftest import dialogue
from ..log.conftest import environment

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
ATTRIBUTES = st.dictionaries(TEXT, JSON, max_size=3)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = st.none() | st.timedeltas(timedelta(days=-719_000), timedelta(days=2_900_000)).map(lambda since: EPOCH + since)
UTTERANCES = st.builds(
    Utterance,
    position=st.just(0),
    turn=st.integers(0, 2**31 - 1),
    speaker=TEXT,
    text=TEXT,
    role=st.sampled_from([None, "user", "agent"]),
    sent_at=TIMES,
    id=st.none() | TEXT,
    attributes=ATTRIBUTES,
)
POSITIONS = st.none() | st.integers(0, 2**31 - 1)
ANNOTATIONS = st.builds(
    Annotation,
    dialogue_id=st.just(""),
    layer=TEXT,
    annotator=TEXT,
    position=POSITIONS,
    start=POSITIONS,
    end=POSITIONS,
    label=st.none() | TEXT,
    value=st.none() | st.floats(allow_nan=False),
    attributes=ATTRIBUTES,
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    identifier = draw(NAME)
    utterances = draw(st.lists(UTTERANCES, max_size=5))
    for position, utterance in enumerate(utterances):
        utterance.position = position
    notes = draw(st.lists(ANNOTATIONS, max_size=4))
    for note in notes:
        note.dialogue_id = identifier
    fields: dict[str, Any] = {name: draw(st.none() | TEXT) for name in ("domain", "split", "title")}
    whole = Dialogue(identifier, utterances, **fields, started_at=draw(TIMES), attributes=draw(ATTRIBUTES))
    return Record(whole, sorted(notes, key=tables.annotation_order))


CORPORA = st.lists(records(), max_size=8, unique_by=lambda record: record.dialogue.id)


def by_id(found: list[Record]) -> list[Record]:
    return sorted(found, key=lambda record: record.dialogue.id)


@settings(max_examples=50, deadline=None)
@given(
    corpus=CORPORA,
    group_rows=st.integers(1, 6),
    run_characters=st.sampled_from([1, 1_500, 10**9]),
    fan_in=st.integers(2, 3),
)
def test_any_records_come_back_in_order_of_id(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[Record], group_rows: int, run_characters: int, fan_in: int
) -> None:
    path = tmp_path_factory.mktemp("corpus")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouped, "_GROUP_ROWS", group_rows)
        patch.setattr(sorting, "_FAN_IN", fan_in)
        writer = CorpusWriter(path, run_characters=run_characters)
        for record in corpus:
            writer.add(record)
        writer.close()
    assert sorted(entry.name for entry in path.iterdir()) == sorted(f"{table}.parquet" for table in TABLES)
    reader = TableReader(path)
    assert list(reader.records()) == by_id(corpus)
    for record in corpus:
        assert reader.get(record.dialogue.id) == record
    assert reader.get("not there") is None or "not there" in {record.dialogue.id for record in corpus}
    reader.close()


def made_up(count: int, seed: int = 1) -> list[Record]:
    chance = random.Random(seed)
    made = []
    for number in range(count):
        identifier = f"d{chance.randrange(10**9):09d}-{number}"
        whole = dialogue(identifier, [f"text {chance.random()}" for _ in range(chance.randrange(7))], "ab"[number % 2])
        notes = [
            Annotation(identifier, "rating", f"rater{n}", value=float(chance.randrange(5)))
            for n in range(chance.randrange(3))
        ]
        made.append(Record(whole, notes))
    return made


def test_the_order_of_input_does_not_matter_to_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "_GROUP_ROWS", 40)
    monkeypatch.setattr(sorting, "_FAN_IN", 3)
    corpus = made_up(150)
    found = []
    for name, order, run_characters in (
        ("sorted", by_id(corpus), 10**9),
        ("runs of the sorted", by_id(corpus), 5_000),
        ("reversed", by_id(corpus)[::-1], 5_000),
        ("as they come", corpus, 10**9),
        ("many runs", corpus, 1_000),
    ):
        monkeypatch.setattr(sorting, "_RUN_CHARACTERS", run_characters)
        write_corpus(tmp_path / name, iter(order), Manifest("corpus")).close()
        files = sorted((tmp_path / name).iterdir())
        found.append({file.name: file.read_bytes() for file in files})
    assert len(found[0]) == 5
    assert all(files == found[0] for files in found[1:])


def test_one_by_id_equals_the_scan_over_many_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "_GROUP_ROWS", 7)
    corpus = made_up(200)
    # Ids longer than the statistics of a row group hold.
    corpus += [Record(dialogue(f"d5{'x' * 6_000}{number}", ["a", "b"])) for number in range(3)]
    with write_corpus(tmp_path / "c", corpus, Manifest("corpus")) as opened:
        assert pq.ParquetFile(tmp_path / "c" / "utterances.parquet").num_row_groups > 50
        scanned = list(opened.records())
        assert scanned == by_id(corpus)
        for record in scanned:
            assert opened.get(record.dialogue.id) == record
        for absent in ("", "a", "zzz", "d5", "\0", "d" + "9" * 9, "\U0010ffff", "half \ud800"):
            with pytest.raises(InputError, match="has no dialogue"):
                opened.get(absent)


def test_one_by_id_reads_only_its_own_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "_GROUP_ROWS", 20)
    corpus = made_up(300)
    write_corpus(tmp_path / "c", corpus, Manifest("corpus")).close()
    read: list[tuple[str, int]] = []
    original = GroupedReader._group

    def recorded(self: GroupedReader[Any], table: str, group: int, *how: Any) -> Any:
        read.append((table, group))
        return original(self, table, group, *how)

    monkeypatch.setattr(GroupedReader, "_group", recorded)
    with Corpus(tmp_path / "c") as opened:
        for record in corpus[:20]:
            read.clear()
            opened.get(record.dialogue.id)
            assert len(read) <= 3


def test_a_corpus_of_nothing(tmp_path: Path) -> None:
    with write_corpus(tmp_path / "c", iter(()), Manifest("corpus")) as corpus:
        assert len(corpus) == 0
        assert list(corpus.records()) == []
        with pytest.raises(InputError, match="has no dialogue 'x'"):
            corpus.get("x")
        assert corpus_statistics(corpus)["dialogues"] == 0


@pytest.mark.parametrize("run_characters", [1, 10**9])
@pytest.mark.parametrize("ids", ["aa", "aba", "abcb", "cbca"])
def test_an_id_stands_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: str, run_characters: int) -> None:
    monkeypatch.setattr(sorting, "_RUN_CHARACTERS", run_characters)
    with pytest.raises(InputError, match=r"two dialogues have the id '[abc]'; expected every id once"):
        write_corpus(tmp_path / "c", (Record(dialogue(i, ["x"])) for i in ids), Manifest("corpus"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "bad",
    [
        Record(dialogue("x", ["half \ud800"])),
        Record(dialogue("half \udc00", ["text"])),
        Record(Dialogue("x", [], attributes={"a": "\ud800"})),
        Record(Dialogue("x", [], attributes={"a": math.nan})),
        Record(Dialogue("x", [Utterance(0, 0, "A", "", attributes={"a": math.inf})])),
        Record(Dialogue("x", []), [Annotation("x", "layer", "me", attributes={"a": [math.nan]})]),
    ],
)
def test_what_is_not_unicode_or_json_is_one_clear_error(tmp_path: Path, bad: Record) -> None:
    with pytest.raises(InputError, match=r"surrogate pair|is not JSON"):
        write_corpus(tmp_path / "c", [bad], Manifest("corpus"))
    assert list(tmp_path.iterdir()) == []


def test_times_are_kept_in_utc(tmp_path: Path) -> None:
    east = datetime(2020, 1, 1, 3, tzinfo=timezone(timedelta(hours=9)))
    naive = datetime(2020, 1, 1, 3)  # noqa: DTZ001 - without a zone on purpose
    corpus = [
        Record(Dialogue("a", [Utterance(0, 0, "A", "x", sent_at=naive)], started_at=east)),
    ]
    with write_corpus(tmp_path / "c", corpus, Manifest("corpus")) as opened:
        found = opened.get("a").dialogue
    assert found.started_at == east
    assert found.started_at is not None
    assert found.started_at.utcoffset() == timedelta(0)
    assert found.utterances[0].sent_at == naive.replace(tzinfo=UTC)


def test_any_parquet_reader_can_open_it(small_corpus: Path) -> None:
    for table in TABLES:
        assert pq.read_table(small_corpus / f"{table}.parquet").schema.equals(tables.SCHEMAS[table])


WRITE_MUCH = """
import resource, sys
from pathlib import Path
from tertulia.artefact import Manifest
from tertulia.corpus.model import Dialogue, Record, Utterance
from tertulia.corpus import sorting, store
sorting._RUN_CHARACTERS = 2_000_000

def records(count):
    for number in range(count):
        identifier = f"{(number * 7919) % count:07d}"
        yield Record(Dialogue(identifier, [Utterance(i, i, "AB"[i % 2], f"{number} " * 250) for i in range(4)]))

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

path = Path(sys.argv[1])
corpus = store.write_corpus(path / "small", records(2_000), Manifest("corpus"))
for record in corpus.records():
    pass
before = peak()
corpus = store.write_corpus(path / "large", records(12_000), Manifest("corpus"))
assert sum(1 for _ in corpus.records()) == 12_000
corpus.get("0002345")
print((peak() - before) // 1024)
"""


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRITE_MUCH, str(tmp_path)],
        env={**environment(), "ARROW_DEFAULT_MEMORY_POOL": "system"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    # The texts alone are 70 MB; what is mapped from the files counts as resident as well.
    assert int(done.stdout) < 60, done.stdout


# -- damage -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("intact") / "c"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouped, "_GROUP_ROWS", 60)
        write_corpus(path, made_up(80), Manifest("corpus")).close()
    return path


READ_DAMAGED = """
import random, sys
from pathlib import Path
from tertulia.artefact import read_manifest
from tertulia.corpus.tables import TABLES, TableReader
from tertulia.errors import TertuliaError

intact, work, seed, rounds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
chance = random.Random(seed)
whole = {table: (intact / f"{table}.parquet").read_bytes() for table in TABLES}
reader = TableReader(intact)
truth = list(reader.records())
reader.close()
footers = read_manifest(intact).details["footers"]
errors = 0
for attempt in range(rounds):
    victim = chance.choice(TABLES)
    for table in TABLES:
        data = bytearray(whole[table])
        if table == victim:
            if attempt % 3 == 0:
                data = data[: chance.randrange(len(data))]
            else:
                # Every second time in the footer, the rest anywhere.
                first = len(data) - 1_500 if attempt % 3 == 1 else 0
                for _ in range(chance.choice([1, 1, 2, 8])):
                    place = chance.randrange(max(0, first), len(data))
                    data[place] ^= 1 << chance.randrange(8)
        (work / f"{table}.parquet").write_bytes(data)
    reader = TableReader(work, footers)
    try:
        for record in reader.records():
            pass
        for record in truth[::9]:
            reader.get(record.dialogue.id)
    except TertuliaError as error:
        assert "\\n" not in error.one_line()
        errors += 1
    finally:
        reader.close()
print(errors)
"""


def test_damaged_tables_end_in_one_clear_error_or_none(intact: Path, tmp_path: Path) -> None:
    # In a process of its own: damage must not end it.
    command = [sys.executable, "-c", READ_DAMAGED, str(intact), str(tmp_path), "11", "400"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert int(done.stdout) > 200


def test_the_footers_of_the_first_corpora_have_another_digest(tmp_path: Path) -> None:
    write_corpus(tmp_path / "c", made_up(5), Manifest("corpus")).close()
    path = tmp_path / "c" / "utterances.parquet"
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    old = {"utterances": hashlib.sha256(data[-8 - length :]).hexdigest()}
    reader = TableReader(tmp_path / "c", old)
    assert len(list(reader.records())) == 5
    reader.close()
    path.write_bytes(data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    reader = TableReader(tmp_path / "c", old)
    with pytest.raises(ArtefactError, match="its footer is damaged"):
        reader.file("utterances")
    reader.close()


def test_a_flipped_bit_in_a_page_is_found_without_the_digests(intact: Path, tmp_path: Path) -> None:
    for table in TABLES:
        data = bytearray((intact / f"{table}.parquet").read_bytes())
        if table == "utterances":
            metadata = pq.ParquetFile(intact / "utterances.parquet").metadata
            column = metadata.row_group(0).column(5)
            data[column.data_page_offset + column.total_compressed_size - 5] ^= 4
        (tmp_path / f"{table}.parquet").write_bytes(data)
    reader = TableReader(tmp_path)
    with pytest.raises(ArtefactError, match=r"utterances\.parquet: row group 0 is damaged"):
        list(reader.records())
    reader.close()


def replaced(intact: Path, target: Path, table: str, change: Any) -> TableReader:
    target.mkdir(exist_ok=True)
    for name in TABLES:
        source = intact / f"{name}.parquet"
        if name == table:
            pq.write_table(change(pq.read_table(source)), target / f"{name}.parquet")
        else:
            (target / f"{name}.parquet").write_bytes(source.read_bytes())
    return TableReader(target)


def with_column(found: pa.Table, name: str, values: list[Any], kind: pa.DataType) -> pa.Table:
    return found.set_column(found.schema.get_field_index(name), name, pa.array(values, kind))


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        ("utterances", lambda t: t.drop_columns(["text"]), "has no column text"),
        ("utterances", lambda t: with_column(t, "text", [1] * len(t), pa.int64()), "has int64 in the column text"),
        ("utterances", lambda t: with_column(t, "text", [None] * len(t), pa.string()), "a row has no text"),
        ("utterances", lambda t: t.slice(1), "does not hold together: it has"),
        ("utterances", lambda t: with_column(t, "attributes", ["{"] * len(t), pa.string()), "does not hold together"),
        ("dialogues", lambda t: with_column(t, "attributes", ["[]"] * len(t), pa.string()), "expected a JSON object"),
        ("dialogues", lambda t: t.slice(0, len(t) - 20), "has rows of a dialogue that dialogues.parquet does not hold"),
        ("dialogues", lambda t: with_column(t, "id", [None] * len(t), pa.string()), "a row has no id"),
        (
            "annotations",
            lambda t: with_column(t, "dialogue_id", ["zzz"] * len(t), pa.string()),
            "has rows of a dialogue that dialogues.parquet does not hold",
        ),
    ],
)
def test_tables_that_do_not_fit_are_one_clear_error(
    intact: Path, tmp_path: Path, table: str, change: Any, message: str
) -> None:
    reader = replaced(intact, tmp_path / "c", table, change)
    with pytest.raises(ArtefactError, match=message):
        list(reader.records())
    reader.close()


def test_a_table_that_is_gone_or_no_parquet(intact: Path, tmp_path: Path) -> None:
    reader = TableReader(tmp_path)
    with pytest.raises(ArtefactError, match="is not there"):
        reader.get("x")
    for content in (b"", b"PAR1", b"PAR1" * 100, b"text"):
        (tmp_path / "dialogues.parquet").write_bytes(content)
        with pytest.raises(ArtefactError, match="is not a Parquet file"):
            TableReader(tmp_path).get("x")


def test_a_changed_corpus_is_refused_when_opened(intact: Path, tmp_path: Path) -> None:
    path = tmp_path / "c"
    write_corpus(path, made_up(5), Manifest("corpus")).close()
    file = path / "utterances.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(TertuliaError, match="has the digest"):
        Corpus(path, check_digests=True)
    file.write_bytes(data + b"\0")
    with pytest.raises(TertuliaError, match="bytes; its manifest says"):
        Corpus(path)
