"""A ranking set equals its definition, on any number of threads; what cannot be had is said."""

import json
from pathlib import Path

import pytest

from tertulia.artefact import Manifest
from tertulia.corpus.exchange import Report
from tertulia.corpus.model import Dialogue, Utterance
from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tertulia.formats.importing import export_corpus, import_corpus
from tertulia.ranking.build import RankingOptions, build_ranking_set
from tertulia.retrieval.bm25.index import compiled_variants
from tertulia.retrieval.engine import KERNEL_VARIABLE

from .corpora import built, corpus_of, dialogue, generated
from .definition import contexts, normal

DIALOGUES = generated(60)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus_of(tmp_path_factory.mktemp("corpus") / "beer", DIALOGUES, licence="CC BY-SA")


def files(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.mark.parametrize("same_domain", [True, False])
@pytest.mark.parametrize(("negatives", "pool"), [(3, 8), (8, 8), (1, 1), (500, 1000), (0, 10)])
def test_contexts_and_pools_are_those_of_the_definition(
    corpus: Path, tmp_path: Path, same_domain: bool, negatives: int, pool: int
) -> None:
    report = Report()
    found = built(
        corpus,
        tmp_path / "set",
        report,
        negatives=negatives,
        pool=pool,
        drawn_from="same-domain" if same_domain else "all",
    )
    expected = contexts(DIALOGUES, same_domain, pool)
    by_id = {each.id: each for each in DIALOGUES}
    assert [record.context.id for record in found] == sorted(expected)
    short = 0
    for record in found:
        plain, context = expected[record.context.id], record.context
        own = by_id[str(context.dialogue_id)]
        assert context.turns == plain.turns
        assert (context.domain, context.split) == (own.domain, own.split)
        true, *wrong = record.candidates
        assert (true.text, true.relevance, true.position) == (plain.response, 1.0, 0)
        assert true.source == f"{context.dialogue_id}#{len(context.turns)}"
        texts = [normal(candidate.text) for candidate in wrong]
        assert len(texts) == len(set(texts)) == min(negatives, pool, len(plain.ranked) + len(plain.others))
        assert set(texts) <= set(plain.ranked) | (plain.others if len(plain.ranked) < pool else set())
        if negatives == pool:
            assert set(plain.ranked) <= set(texts)
        short += len(texts) < negatives
        for place, candidate in enumerate(wrong, 1):
            assert (candidate.position, candidate.relevance) == (place, 0.0)
            identifier, _, position = str(candidate.source).partition("#")
            said = by_id[identifier].utterances[int(position)]
            assert (said.text, said.role) == (candidate.text, "agent")
            assert by_id[identifier].split == own.split
            assert by_id[identifier].domain == own.domain or not same_domain
    noted = report.noted.get("contexts with fewer negatives than asked for")
    assert (noted.count if noted else 0) == short


def test_the_same_bytes_by_any_thread_and_engine(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, engine in enumerate([*compiled_variants(), "numpy"]):
        monkeypatch.setenv(KERNEL_VARIABLE, engine)
        built(corpus, tmp_path / f"{number}-1" / "set", negatives=4, pool=9)
        built(corpus, tmp_path / f"{number}-2" / "set", negatives=4, pool=9, workers=3)
    sets = [files(path / "set") for path in sorted(tmp_path.iterdir())]
    assert all(each == sets[0] for each in sets)
    built(corpus, tmp_path / "other" / "set", negatives=4, pool=9, seed=1)
    assert files(tmp_path / "other" / "set")["candidates.parquet"] != sets[0]["candidates.parquet"]
    assert files(tmp_path / "other" / "set")["contexts.parquet"] == sets[0]["contexts.parquet"]


def test_a_draw_does_not_depend_on_other_contexts(corpus: Path, tmp_path: Path) -> None:
    whole = built(corpus, tmp_path / "whole", negatives=3, pool=9)
    part = built(corpus, tmp_path / "part", negatives=3, pool=9, splits=("test",))
    assert part == [record for record in whole if record.context.split == "test"]
    assert part


def test_the_manifest_says_how(corpus: Path, tmp_path: Path) -> None:
    report = Report()
    with build_ranking_set(corpus, tmp_path / "set", RankingOptions(seed=5), report) as made:
        manifest = made.manifest
    assert manifest.seed == 5
    assert manifest.licence == "CC BY-SA"
    assert manifest.options["from"] == "same-domain"
    assert [each["name"] for each in manifest.inputs] == ["beer"]
    assert manifest.report == report.to_json()
    assert sum(pool["contexts"] for pool in manifest.details["pools"]) == manifest.counts["contexts"]
    assert [(pool["split"], pool["domain"]) for pool in manifest.details["pools"]] == [
        ("test", "beer"),
        ("test", "wine"),
        ("train", "beer"),
        ("train", "wine"),
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_it_goes_out_as_mantis_publishes_it_and_comes_back(tmp_path: Path) -> None:
    dialogues = [
        dialogue(f"d{i}", [f"q{i}", "yes", f"but {i}", f"answer {i} malt", f"and {i}", f"last {i} malt"])
        for i in range(3)
    ]
    corpus_of(tmp_path / "corpus", dialogues)
    built(tmp_path / "corpus", tmp_path / "set", negatives=2)
    export_corpus("ranking-tsv", tmp_path / "set", tmp_path / "out", Report())
    [table, lookup] = sorted((tmp_path / "out").iterdir(), key=lambda path: len(path.name))
    rows = [line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()]
    ids = lookup.read_text(encoding="utf-8").splitlines()
    assert len(rows) == len(ids) == 18
    for at in range(0, 18, 3):
        assert [row[0] for row in rows[at : at + 3]] == ["1", "0", "0"]
        assert len({tuple(row[1:-1]) for row in rows[at : at + 3]}) == 1
        assert len(set(ids[at : at + 3])) == 1
    assert rows[0] == ["1", "q0", "yes", "but 0", "answer 0 malt"]
    assert rows[3] == ["1", "q0", "yes", "but 0", "answer 0 malt", "and 0", "last 0 malt"]
    assert ids[:6] == ["d0"] * 6
    report = Report()
    with import_corpus("ranking-tsv", str(tmp_path / "out"), tmp_path / "again", report) as again:
        assert again.manifest.counts == {"contexts": 6, "candidates": 18}


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    three = Dialogue("three", [Utterance(i, i, "abc"[i % 3], "text") for i in range(6)])
    partly = dialogue("partly", ["q", "a", "q", "a"])
    partly.utterances[0].role = None
    dialogues = [
        three,
        partly,
        dialogue("short", ["q", "a"]),
        dialogue("blank", ["q", "a", " ", "b"]),
        dialogue("whole", ["q", "a", "r", "b"]),
        Dialogue("nothing", []),
    ]
    report = Report()
    found = built(corpus_of(tmp_path / "corpus", dialogues), tmp_path / "set", report)
    assert [record.context.id for record in found] == ["whole-3"]
    assert {reason: (each.count, each.first) for reason, each in report.skipped.items()} == {
        "dialogues of more than two speakers": (1, "three"),
        "dialogues in which some utterances have a role and others none": (1, "partly"),
        "utterances without text": (1, "blank"),
    }
    assert report.noted["dialogues too short for a context"].count == 3
    # "a" stands in the context's own dialogue, so nothing is left to draw.
    assert [candidate.text for candidate in found[0].candidates] == ["b"]
    assert report.noted["negatives that there were not"].count == 10


def test_ids_that_sort_otherwise_than_dialogues(tmp_path: Path) -> None:
    long = ["q", "a"] * 12
    dialogues = [
        dialogue(name, [f"{name} {i} {text}" for i, text in enumerate(long)]) for name in ("d", "d 1", "d-1", "e")
    ]
    found = built(corpus_of(tmp_path / "corpus", dialogues), tmp_path / "set", negatives=1)
    assert [record.context.id for record in found] == sorted(record.context.id for record in found)
    assert len(found) == 44


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"negatives": -1}, "-1 negatives are asked for"),
        ({"negatives": 20, "pool": 10}, "the pool has 10 responses; expected at least the 20"),
        ({"pool": 0, "negatives": 0}, "the pool has 0 responses"),
        ({"last": 0}, "the last 0 turns"),
        ({"language": "xx"}, "no tokenizer for 'xx'"),
        ({"target": "documents"}, "no crawl is named"),
    ],
)
def test_options_that_do_not_hold(corpus: Path, tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        built(corpus, tmp_path / "set", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_without_a_context(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", [dialogue("d", ["q", "a"])])
    with pytest.raises(InputError, match=r"has no context.*1 dialogues too short"):
        built(corpus, tmp_path / "set")
    with pytest.raises(InputError, match="has no context"):
        built(corpus_of(tmp_path / "empty", []), tmp_path / "set")
    with pytest.raises(InputError, match="no dialogue of the split dev"):
        built(corpus, tmp_path / "set", splits=("dev",))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "empty"]


def test_nothing_is_overwritten_unasked(corpus: Path, tmp_path: Path) -> None:
    built(corpus, tmp_path / "set", negatives=1)
    before = files(tmp_path / "set")
    with pytest.raises(ArtefactError, match="exists already"):
        built(corpus, tmp_path / "set", negatives=2)
    assert files(tmp_path / "set") == before
    with pytest.raises(ArtefactError, match="is the corpus"):
        built(corpus, corpus, overwrite=True)
    built(corpus, tmp_path / "set", negatives=2, overwrite=True)
    assert files(tmp_path / "set") != before


def test_a_ranking_set_is_no_corpus(corpus: Path, tmp_path: Path) -> None:
    built(corpus, tmp_path / "set")
    with pytest.raises(ArtefactError, match="ranking-set"):
        built(tmp_path / "set", tmp_path / "again")


def test_a_self_dialogue_makes_contexts(small_corpus: Path, tmp_path: Path) -> None:
    found = built(small_corpus, tmp_path / "set", drawn_from="all", negatives=3)
    assert [record.context.id for record in found] == ["films-1-3", "films-2-3", "food-1-3", "travel-1-3"]
    assert [len(record.candidates) for record in found] == [4, 4, 4, 4]
    assert json.loads((tmp_path / "set" / "manifest.json").read_text())["kind"] == Manifest("ranking-set").kind
