"""Statistics of a ranking set beside a plain definition over its records."""

import json
import math
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.artefact import Manifest
from tertulia.corpus.model import Candidate, Context, RankingRecord, Rating, Turn
from tertulia.corpus.ranking_set import write_ranking_set
from tertulia.corpus.statistics.describe import collection_statistics, records_of
from tertulia.corpus.statistics.ranking import ranking_statistics
from tertulia.corpus.statistics.words import WordMethod, words_of
from tertulia.errors import ArtefactError
from tertulia.measures.agreement import cohen_kappa, krippendorff_alpha

TEXTS = st.sampled_from(["", "hello there", "今天天气真好", "the end.\n", "a\u3000b", "x" * 70])
GRADES = st.sampled_from([1.0, 2.0, 3.0, 5.0])


@st.composite
def ranking_records(draw: Callable[..., Any]) -> list[RankingRecord]:
    made = []
    for number in range(draw(st.integers(0, 5))):
        turns = [Turn("user", text) for text in draw(st.lists(TEXTS, max_size=3))]
        domain, split = draw(st.sampled_from([None, "films", "food"])), draw(st.sampled_from([None, "train", "dev"]))
        candidates = []
        for position, text in enumerate(draw(st.lists(TEXTS, max_size=4))):
            who = draw(st.sampled_from([[], ["ann"], ["ann", "bob"]]))
            candidates.append(
                Candidate(
                    position,
                    text,
                    draw(st.sampled_from([None, 0.0, 1.0, 2.5])),
                    [Rating(name, draw(GRADES)) for name in who],
                    draw(st.sampled_from([None, "forum", "bank"])),
                )
            )
        made.append(RankingRecord(Context(f"c{number}", turns, None, domain, split), candidates))
    return made


def mean_of(numbers: list[int]) -> Any:
    return pytest.approx(statistics.fmean(numbers)) if numbers else None


def plain(records: list[RankingRecord], method: WordMethod) -> dict[str, Any]:
    contexts = [sum(len(words_of(turn.text, method)) for turn in record.context.turns) for record in records]
    candidates = [len(words_of(c.text, method)) for record in records for c in record.candidates]
    texts = [t.text for r in records for t in r.context.turns] + [c.text for r in records for c in r.candidates]
    return {
        "contexts": len(records),
        "candidates": len(candidates),
        "words_in_contexts": sum(contexts),
        "words_in_candidates": sum(candidates),
        "vocabulary": len({word for text in texts for word in words_of(text, method)}),
        "candidates_per_context": mean_of([len(record.candidates) for record in records]),
        "words_per_context": mean_of(contexts),
        "words_per_candidate": mean_of(candidates),
    }


@settings(max_examples=40, deadline=None)
@given(made=ranking_records())
def test_statistics_are_those_of_the_definition(
    made: list[RankingRecord], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with write_ranking_set(tmp_path_factory.mktemp("r") / "r", made, Manifest("ranking-set")) as ranking:
        found = ranking_statistics(ranking)
    json.dumps(found, allow_nan=False)
    method = WordMethod("by script", "auto")
    for name, value in plain(made, method).items():
        assert (found[name]["mean"] if isinstance(found[name], dict) else found[name]) == value, name
    assert found["turns"] == sum(len(record.context.turns) for record in made)
    assert found["words"] == found["words_in_contexts"] + found["words_in_candidates"]
    assert found["candidates_per_context"]["histogram"] == {
        str(n): count for n, count in Counter(len(record.candidates) for record in made).items()
    }
    for side in ("domain", "split"):
        names = {getattr(record.context, side) for record in made} - {None}
        assert found[f"by_{side}"] == {
            name: plain([record for record in made if getattr(record.context, side) == name], method) for name in names
        }
        assert found[f"{side}s"] == {name: found[f"by_{side}"][name]["contexts"] for name in names}
    check_ratings(found, [c for record in made for c in record.candidates])


def check_ratings(found: dict[str, Any], candidates: list[Candidate]) -> None:
    relevance = [c.relevance for c in candidates if c.relevance is not None]
    assert found["relevance"]["number"] == len(relevance)
    assert found["relevance"]["values"] == {f"{value:g}": n for value, n in Counter(relevance).items()}
    ratings = [rating for c in candidates for rating in c.ratings]
    assert found["ratings"]["number"] == len(ratings)
    assert found["ratings"]["annotators"] == len({rating.annotator for rating in ratings})
    for name, block in found["ratings"]["by_annotator"].items():
        own = Counter(rating.value for rating in ratings if rating.annotator == name)
        assert block["values"] == {f"{value:g}": n for value, n in own.items()}
    assert found["sources"] == Counter(c.source for c in candidates if c.source is not None)
    both = [[rating.value for rating in c.ratings] for c in candidates if len(c.ratings) == 2]
    if not both:
        assert found["agreement"] is None
        return
    assert found["agreement"]["units"] == len(both)
    first, second = zip(*both, strict=True)
    assert found["agreement"]["alpha"] == same(krippendorff_alpha([first, second], level="ordinal"))
    assert found["agreement"]["cohen_kappa"] == same(cohen_kappa(first, second))
    assert found["agreement"]["cohen_kappa_quadratic"] == same(cohen_kappa(first, second, weights="quadratic"))


def same(value: float) -> Any:
    return None if math.isnan(value) else pytest.approx(value)


def test_segmented_prompts_and_responses_are_counted_by_their_spaces(tmp_path: Path) -> None:
    made = [RankingRecord(Context("c", [Turn("user", "今天 天气 好 吗")]), [Candidate(0, "今天 的 天气 很 好", 4.5)])]
    with write_ranking_set(tmp_path / "r", made, Manifest("ranking-set")) as ranking:
        found = ranking_statistics(ranking)
        by_rjieba = ranking_statistics(ranking, words="chinese")
    assert (found["words_in_contexts"], found["words_in_candidates"], found["vocabulary"]) == (4, 5, 6)
    assert found["tokenizer"]["method"] == "white space"
    assert by_rjieba["tokenizer"] == {"method": "rjieba", "words": "chinese", "texts_by_rjieba": 2, "remark": None}


def test_whatever_is_neither_corpus_nor_ranking_set_is_refused(small_bot: Path, small_corpus: Path) -> None:
    assert records_of(small_corpus) == "dialogues"
    assert collection_statistics(small_corpus)["kind"] == "corpus"
    with pytest.raises(ArtefactError, match="is a bot; expected a corpus or a ranking set"):
        collection_statistics(small_bot)


@pytest.mark.parametrize("kind", ["four", "three"])
def test_more_than_two_annotators_have_no_kappa(tmp_path: Path, kind: str) -> None:
    who = ["ann", "bob", "cy", "dee"][: 4 if kind == "four" else 3]
    made = [
        RankingRecord(
            Context(f"c{n}", [Turn("user", "a")]),
            [Candidate(0, "b", None, [Rating(who[n % len(who)], 3.0), Rating(who[(n + 1) % len(who)], 3.0 + n % 2)])],
        )
        for n in range(12)
    ]
    with write_ranking_set(tmp_path / "r", made, Manifest("ranking-set")) as ranking:
        agreement = ranking_statistics(ranking)["agreement"]
    assert agreement["units"] == 12
    assert agreement["alpha"] is not None
    assert agreement["cohen_kappa"] is None


def test_the_released_ratings(data: Path, tmp_path: Path) -> None:
    from tertulia.corpus.exchange import ReadOptions, Report
    from tertulia.formats.rated_tsv.format import RatedTsvFormat

    source = str(data / "rated_responses" / "tencent" / "rated_subset_408.tsv")
    records = RatedTsvFormat().read(source, Report(), ReadOptions())
    with write_ranking_set(tmp_path / "r", records, Manifest("ranking-set")) as ranking:
        found = ranking_statistics(ranking)
    lines = (data / "rated_responses" / "tencent" / "rated_subset_408.tsv").read_text(encoding="utf-8-sig").splitlines()
    rows = [line.split("\t") for line in lines]
    assert found["candidates"] == len(rows) == 408
    assert found["relevance"]["values"] == {
        f"{float(value):g}": n for value, n in Counter(row[2] for row in rows).items()
    }
    assert found["words_in_candidates"] == sum(len(row[1].split()) for row in rows)
    assert found["tokenizer"]["method"] == "white space"
