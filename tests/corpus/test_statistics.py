"""Statistics beside a plain definition that goes over the records one by one."""

import json
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.artefact import Manifest
from tertulia.corpus.grouped import footer_digest
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance, number_turns
from tertulia.corpus.statistics import layers as statistics_layers
from tertulia.corpus.statistics.dialogues import corpus_statistics
from tertulia.corpus.statistics.words import WordMethod, words_of
from tertulia.corpus.store import Corpus, write_corpus
from tertulia.errors import ArtefactError
from tertulia.measures.agreement import krippendorff_alpha

TEXTS = st.sampled_from(
    [
        "",
        " ",
        "hello there",
        "Hello  there",
        "the end.\n",
        "今天天气真好",
        "我们去公园吧 OK",
        "a\u00a0b\u3000c",
        "好",
        "x" * 80,
    ]
)
NAMES = st.sampled_from([None, "films", "food", "电影"])
SPLITS = st.sampled_from([None, "train", "dev"])


@st.composite
def records(draw: Callable[..., Any]) -> list[Record]:
    made = []
    for number in range(draw(st.integers(0, 6))):
        said = draw(st.lists(st.tuples(st.sampled_from(["A", "B", "C"]), TEXTS), max_size=5))
        turns = number_turns([speaker for speaker, _ in said])
        utterances = [Utterance(i, turns[i], speaker, text) for i, (speaker, text) in enumerate(said)]
        dialogue = Dialogue(f"d{number}", utterances, draw(NAMES), draw(SPLITS))
        made.append(Record(dialogue, draw(st.lists(annotations(dialogue.id, len(said)), max_size=8))))
    return made


def annotations(identifier: str, utterances: int) -> st.SearchStrategy[Annotation]:
    places = st.sampled_from([None, *range(utterances)])
    return st.builds(
        lambda layer, who, position, label, value: Annotation(
            identifier, layer, who, position, None, None, label, value
        ),
        st.sampled_from(["intent", "rating"]),
        st.sampled_from(["ann", "bob", "cy"]),
        places,
        st.sampled_from([None, "OQ", "PA", "FD"]),
        st.sampled_from([None, 1.0, 2.0, 4.5, math.inf]),
    )


def plain_statistics(records: Iterable[Record], method: WordMethod) -> dict[str, Any]:
    """The definition: everything in lists and sets of Python."""
    kept = [record.dialogue for record in records]
    words = [words_of(utterance.text, method) for dialogue in kept for utterance in dialogue.utterances]
    return {
        "dialogues": len(kept),
        "utterances": len(words),
        "turns": sum(map(turns, kept)),
        "words": sum(map(len, words)),
        "vocabulary": len({word for text in words for word in text}),
        "speakers": len({utterance.speaker for dialogue in kept for utterance in dialogue.utterances}),
        "domains": Counter(d.domain for d in kept if d.domain is not None),
        "splits": Counter(d.split for d in kept if d.split is not None),
        "utterances_per_dialogue": plain_summary([len(d.utterances) for d in kept]),
        "turns_per_dialogue": plain_summary([turns(d) for d in kept]),
        "words_per_utterance": plain_summary([len(text) for text in words]),
        "by_domain": {
            name: plain_block([d for d in kept if d.domain == name], method) for name in {d.domain for d in kept}
        },
        "by_split": {
            name: plain_block([d for d in kept if d.split == name], method) for name in {d.split for d in kept}
        },
    }


def turns(dialogue: Dialogue) -> int:
    said = [utterance.turn for utterance in dialogue.utterances]
    return sum(1 for i, turn in enumerate(said) if i == 0 or turn != said[i - 1])


def plain_block(dialogues: list[Dialogue], method: WordMethod) -> dict[str, Any]:
    texts = [words_of(utterance.text, method) for dialogue in dialogues for utterance in dialogue.utterances]
    words = sum(map(len, texts))
    return {
        "dialogues": len(dialogues),
        "utterances": len(texts),
        "turns": sum(map(turns, dialogues)),
        "words": words,
        "vocabulary": len({word for text in texts for word in text}),
        "utterances_per_dialogue": len(texts) / len(dialogues),
        "turns_per_dialogue": sum(map(turns, dialogues)) / len(dialogues),
        "words_per_utterance": words / len(texts) if texts else None,
    }


def plain_summary(numbers: list[int]) -> dict[str, Any]:
    if not numbers:
        return {**dict.fromkeys(("mean", "median", "min", "max", "p95", "standard_deviation")), "histogram": {}}
    return {
        "mean": pytest.approx(statistics.fmean(numbers)),
        "median": statistics.median(numbers),
        "min": min(numbers),
        "max": max(numbers),
        "p95": min(n for n in set(numbers) if sum(m <= n for m in numbers) >= 0.95 * len(numbers)),
        "standard_deviation": pytest.approx(statistics.pstdev(numbers), abs=1e-9),
        "histogram": {str(n): count for n, count in sorted(Counter(numbers).items())},
    }


def counted(path: Path, records: Iterable[Record], **options: Any) -> dict[str, Any]:
    with write_corpus(path, records, Manifest("corpus")) as corpus:
        return corpus_statistics(corpus, **options)


@settings(max_examples=40, deadline=None)
@given(made=records())
def test_statistics_are_those_of_the_definition(made: list[Record], tmp_path_factory: pytest.TempPathFactory) -> None:
    found = counted(tmp_path_factory.mktemp("c") / "c", made)
    check_counts(found, made)
    check_labels(found, made)
    check_agreement(found["agreement"], made)
    json.dumps(found, allow_nan=False)


def check_counts(found: dict[str, Any], made: list[Record]) -> None:
    method = WordMethod("by script", "auto")
    if "segmented" in (found["tokenizer"]["remark"] or ""):
        method = WordMethod("spaces", "auto")
    expected = plain_statistics(made, method)
    for side in ("by_domain", "by_split"):
        expected[side].pop(None, None)
    assert {name: found[name] for name in expected} == expected


def check_labels(found: dict[str, Any], made: list[Record]) -> None:
    notes = [note for record in made for note in record.annotations]
    assert found["layers"] == Counter(note.layer for note in notes)
    assert found["labels"].keys() == found["layers"].keys()
    for layer, block in found["labels"].items():
        own = [note for note in notes if note.layer == layer]
        answers = Counter((note.dialogue_id, note.position, note.annotator) for note in own)
        assert block["annotations"] == len(own)
        assert block["places"] == len({(note.dialogue_id, note.position) for note in own})
        assert block["answers"] == len(answers)
        assert block["answers_of_several"] == sum(number > 1 for number in answers.values())
        assert block["annotators"] == len({note.annotator for note in own})
        assert block["labels"] == Counter(note.label for note in own if note.label is not None)
        values = [note.value for note in own if note.value is not None and math.isfinite(note.value)]
        assert block["values"] == {f"{v:g}": n for v, n in Counter(values).items()}
        assert block["mean"] == (pytest.approx(statistics.fmean(values)) if values else None)
        assert block["standard_deviation"] == (pytest.approx(statistics.pstdev(values), abs=1e-9) if values else None)
        assert (block["min"], block["max"]) == ((min(values), max(values)) if values else (None, None))
        for annotator, theirs in block["by_annotator"].items():
            assert theirs["labels"] == Counter(n.label for n in own if n.label is not None and n.annotator == annotator)


def check_agreement(found: dict[str, Any], made: list[Record]) -> None:
    notes = [note for record in made for note in record.annotations]
    for layer, block in found.items():
        units = sorted({(n.dialogue_id, -1 if n.position is None else n.position) for n in notes if n.layer == layer})
        who = sorted({n.annotator for n in notes if n.layer == layer})
        sets: dict[tuple[Any, ...], set[str]] = {}
        values: dict[tuple[Any, ...], list[float]] = {}
        for note in notes:
            place = (note.annotator, note.dialogue_id, -1 if note.position is None else note.position)
            if note.layer == layer and note.label is not None:
                sets.setdefault(place, set()).add(note.label)
            elif note.layer == layer and note.value is not None and math.isfinite(note.value):
                values.setdefault(place, []).append(note.value)
        table = [["+".join(sorted(sets[a, *unit])) if (a, *unit) in sets else None for unit in units] for a in who]
        numbers = [
            [statistics.fmean(values[a, *unit]) if (a, *unit) in values else math.nan for unit in units] for a in who
        ]
        assert alpha_of(block["labels"]) == same(krippendorff_alpha(object_table(table)))
        assert alpha_of(block["values"]) == same(krippendorff_alpha(numbers, level="ordinal"))
        for label, alpha in ((block["labels"] or {}).get("by_label") or {}).items():
            given = [
                [float(label in sets[a, *unit]) if (a, *unit) in sets else math.nan for unit in units] for a in who
            ]
            assert alpha == same(krippendorff_alpha(given))


def object_table(table: list[list[str | None]]) -> Any:
    import numpy as np

    return np.array(table, dtype=object).reshape(len(table), -1)


def alpha_of(block: dict[str, Any] | None) -> float | None:
    return None if block is None else block["alpha"]


def same(alpha: float) -> Any:
    return None if math.isnan(alpha) else pytest.approx(alpha)


def dialogue(identifier: str, texts: list[str], domain: str | None = None, split: str | None = None) -> Dialogue:
    return Dialogue(identifier, [Utterance(i, i, "AB"[i % 2], text) for i, text in enumerate(texts)], domain, split)


def test_several_row_groups_count_like_one(tmp_path: Path) -> None:
    texts = ["one two three", "four", "", "five six", "今天天气真好"]
    made = [
        Record(dialogue(f"d{n:05d}", texts[: n % 6], ["a", "b", None][n % 3], ["train", "test"][n % 2]))
        for n in range(30_000)
    ]
    found = counted(tmp_path / "c", made)
    assert pq.ParquetFile(tmp_path / "c" / "utterances.parquet").num_row_groups > 1
    expected = plain_statistics(made, WordMethod("by script", "auto"))
    expected["by_domain"].pop(None)
    assert {name: found[name] for name in expected} == expected
    assert found["tokenizer"] == {
        "method": "white space, Chinese texts by rjieba",
        "words": "auto",
        "texts_by_rjieba": 5_000,
        "remark": None,
    }


def test_several_labels_of_one_annotator_are_one_answer(tmp_path: Path) -> None:
    notes = [
        Annotation("d", "intent", who, position, label=label)
        for who, position, labels in (
            ("ann", 0, ["OQ"]),
            ("bob", 0, ["OQ"]),
            ("ann", 1, ["PA", "FD"]),
            ("bob", 1, ["FD", "PA"]),
            ("ann", 2, ["PF"]),
            ("bob", 2, ["PF", "GG"]),
        )
        for label in labels
    ]
    found = counted(tmp_path / "c", [Record(dialogue("d", ["a", "b", "c"]), notes)])
    block = found["labels"]["intent"]
    assert (block["annotations"], block["places"], block["answers"], block["answers_of_several"]) == (9, 3, 6, 3)
    assert block["labels"] == {"FD": 2, "OQ": 2, "PA": 2, "PF": 2, "GG": 1}
    assert list(block["labels"])[:4] == ["FD", "OQ", "PA", "PF"], "by frequency, then by name"
    agreement = found["agreement"]["intent"]["labels"]
    assert agreement["several"] is True
    assert agreement["units"] == 3
    assert agreement["percent_agreement"] == pytest.approx(2 / 3)
    assert agreement["by_label"]["PA"] == 1.0
    assert agreement["by_label"]["GG"] == 0.0
    assert agreement["mean_of_labels"] == pytest.approx(0.8)
    low, high = agreement["interval"]
    assert low <= agreement["alpha"] <= high


def test_spans_agree_by_f1(tmp_path: Path) -> None:
    spans = {
        "ann": [(0, 4, "NAME"), (5, 9, "NAME"), (5, 9, "OTHER")],
        "bob": [(0, 4, "NAME"), (5, 9, "OTHER"), (4, 9, "NAME")],
    }
    notes = [Annotation("d", "preference", who, 0, a, b, label) for who, own in spans.items() for a, b, label in own]
    alone = [Annotation("e", "preference", "ann", 0, 0, 3, "NAME")]
    found = counted(
        tmp_path / "c",
        [Record(dialogue("d", ["Ahab and the whale"]), notes), Record(dialogue("e", ["Ishmael"]), alone)],
    )
    assert found["agreement"]["preference"] == {
        "labels": None, "values": None, "spans": {"pairs": 1, "spans": 6, "f1": 4 / 6},
    }  # fmt: skip


def test_one_annotator_agrees_with_nobody(tmp_path: Path) -> None:
    notes = [Annotation("d", "rating", "ann", 0, value=4.0)]
    found = counted(tmp_path / "c", [Record(dialogue("d", ["a"]), notes)])
    assert found["agreement"] == {}
    assert found["labels"]["rating"]["values"] == {"4": 1}


def test_more_than_twenty_distinct_values_are_measured(tmp_path: Path) -> None:
    made = [
        Record(
            dialogue(f"d{n:02d}", ["a"]),
            [
                Annotation(f"d{n:02d}", "score", who, None, value=n / 8 + shift)
                for who, shift in (("ann", 0), ("bob", 0.25))
            ],
        )
        for n in range(30)
    ]
    found = counted(tmp_path / "c", made)["agreement"]["score"]["values"]
    assert found["level"] == "interval"
    expected = krippendorff_alpha([[n / 8 for n in range(30)], [n / 8 + 0.25 for n in range(30)]], level="interval")
    assert found["alpha"] == pytest.approx(expected)


def test_too_many_answers_or_annotators_are_summed_up_but_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics_layers, "MOST_ANSWERS", 5)
    monkeypatch.setattr(statistics_layers, "MOST_ANNOTATORS", 3)
    notes = [Annotation("d", "score", f"a{n}", 0, value=float(n)) for n in range(10)]
    block = counted(tmp_path / "c", [Record(dialogue("d", ["a"]), notes)])["labels"]["score"]
    assert block["values"] is None
    assert block["by_annotator"] is None
    assert (block["annotators"], block["mean"], block["min"], block["max"]) == (10, 4.5, 0.0, 9.0)
    assert block["standard_deviation"] == pytest.approx(statistics.pstdev(range(10)))


def test_an_empty_corpus(tmp_path: Path) -> None:
    found = counted(tmp_path / "c", [])
    assert (found["dialogues"], found["words"], found["vocabulary"], found["speakers"]) == (0, 0, 0, 0)
    assert found["words_per_utterance"]["mean"] is None
    assert found["tokenizer"]["method"] == "white space"
    json.dumps(found, allow_nan=False)


def test_progress_adds_up_to_the_dialogues(tmp_path: Path) -> None:
    made = [Record(dialogue(f"d{n}", ["a"] * (n % 3))) for n in range(50)]
    told: list[tuple[int, int | None]] = []
    counted(tmp_path / "c", made, progress=lambda done, total: told.append((done, total)))
    assert sum(done for done, _ in told) == 50
    assert {total for _, total in told} == {50}


@pytest.mark.parametrize("change", ["fewer", "order", "negative", "none"])
def test_tables_that_do_not_belong_together_are_an_error(tmp_path: Path, change: str) -> None:
    path = tmp_path / "c"
    write_corpus(path, [Record(dialogue(f"d{n}", ["a", "b"])) for n in range(3)], Manifest("corpus")).close()
    name = "dialogues" if change in ("negative", "none") else "utterances"
    table = pq.read_table(path / f"{name}.parquet")
    if change == "fewer":
        table = table.slice(0, 5)
    elif change == "order":
        table = table.take([1, 0, 2, 3, 4, 5])
    elif change == "negative":
        table = table.set_column(5, "utterances", pa.array([8, -4, 2], type=pa.int32()))
    else:
        table = table.set_column(5, "utterances", pa.array([2, 2, 0], type=pa.int32()))
    rewrite(path, name, table)
    with (
        Corpus(path) as corpus,
        pytest.raises(ArtefactError, match=r"does not have the rows that dialogues.parquet counts"),
    ):
        corpus_statistics(corpus)


def rewrite(path: Path, name: str, table: pa.Table) -> None:
    """Put another table in place of one, so that the manifest does not notice."""
    pq.write_table(table, path / f"{name}.parquet", write_page_checksum=True)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["details"]["footers"][name] = footer_digest(path / f"{name}.parquet")
    manifest["files"][f"{name}.parquet"]["bytes"] = (path / f"{name}.parquet").stat().st_size
    (path / "manifest.json").write_text(json.dumps(manifest))


def test_the_superheroes_have_the_figures_of_their_publication(data: Path, tmp_path: Path) -> None:
    from tertulia.corpus.exchange import Report
    from tertulia.formats.importing import import_corpus

    source = data / "self_dialogue" / "corpus" / "superhero"
    with import_corpus("self-dialogue", str(source), tmp_path / "sd", Report()) as corpus:
        found = corpus_statistics(corpus)
        words = {word for d in corpus.dialogues() for text in d.texts for word in text.split()}
    assert (found["dialogues"], found["utterances"], found["words"]) == (414, 4_140, 40_967)
    assert found["vocabulary"] == len(words)
