"""Cleaning ranking sets: prompts with all their responses, responses one by one."""

from pathlib import Path

from tertulia.artefact import Manifest
from tertulia.corpus.cleaning.clean import clean_corpus, clean_records
from tertulia.corpus.cleaning.plan import parse_plan
from tertulia.corpus.cleaning.report import CleaningReport
from tertulia.corpus.model import RankingRecord, Turn
from tertulia.corpus.ranking_set import RankingSet, write_ranking_set

from .makers import pair


def cleaned(
    records: list[RankingRecord], *filters: str, language: str = "en"
) -> tuple[list[RankingRecord], CleaningReport]:
    report = CleaningReport(unit="contexts")
    return list(clean_records(records, parse_plan(filters, [], language), report)), report


def test_a_prompt_goes_with_all_its_responses_and_a_response_alone() -> None:
    records = [
        pair("p1", "what's the weather today in oslo", "fine", "rain"),
        pair("p2", "hello there", "you idiot", "what time is it", "good day"),
        pair("p3", "you idiot", "calm down"),
        pair("p4", "hello again", "fuck"),
    ]
    after, report = cleaned(records, "offensive:drop", "needs-knowledge:drop")
    assert [record.context.id for record in after] == ["p2"]
    assert [(c.position, c.text, c.relevance) for c in after[0].candidates] == [
        (0, "what time is it", 1.0),
        (1, "good day", 2.0),
    ]
    assert report.dropped == {"needs-knowledge": 1, "offensive": 1}
    assert report.candidates_dropped == {"offensive": 2}
    assert report.notes.noted["contexts left out for want of a candidate"].first == "p4"
    assert [(row.kind, row.first) for row in report.rows()] == [
        ("insult", "p2, candidate 0"),
        ("profanity", "p4, candidate 0"),
        ("weather", "p1, turn 0"),
    ]


def test_marks_stand_in_the_attributes_and_are_replaced_by_the_next_run() -> None:
    records = [pair("p", "mail a@example.com", "you idiot", "fine")]
    (once,), _ = cleaned(records, "offensive", "personal")
    assert once.context.attributes == {
        "clean": [{"filter": "personal", "kind": "e-mail", "turn": 0, "start": 5, "end": 18}]
    }
    assert once.candidates[0].attributes == {"clean": [{"filter": "offensive", "kind": "insult", "start": 0, "end": 9}]}
    assert once.candidates[1].attributes == {}
    assert cleaned([once], "offensive", "personal")[0] == [once]
    (bare,), _ = cleaned([once], "personal:mask", "offensive:mask")
    assert bare.context.attributes == {}
    assert records[0].context.attributes == {}


def test_masks_replace_spans_and_marks_move_along() -> None:
    records = [pair("p", "a@example.com, you idiot", "b@example.com, you idiot")]
    (after,), report = cleaned(records, "offensive", "personal:mask")
    assert after.context.texts == ["[E-MAIL], you idiot"]
    mark = after.context.attributes["clean"][0]
    assert after.context.texts[0][mark["start"] : mark["end"]] == "you idiot"
    mark = after.candidates[0].attributes["clean"][0]
    assert after.candidates[0].text[mark["start"] : mark["end"]] == "you idiot"
    assert report.masked == 2


def test_only_the_last_turn_is_a_prompt() -> None:
    record = pair("p", "what time is it", "no idea")
    record.context.turns.append(Turn(None, "never mind"))
    assert len(cleaned([record], "needs-knowledge:drop")[0]) == 1
    record.context.turns.append(Turn(None, "what time is it"))
    assert cleaned([record], "needs-knowledge:drop")[0] == []


def test_duplicate_prompts_are_found() -> None:
    records = [
        pair("p1", "Good day to you!", "hello"),
        pair("p2", "good day to you", "hi"),
        pair("p3", "other words", "hi"),
    ]
    after, report = cleaned(records, "duplicates:drop")
    assert [record.context.id for record in after] == ["p1", "p3"]
    assert report.dropped == {"duplicates": 1}


def test_a_ranking_set_stays_one(tmp_path: Path) -> None:
    records = [
        pair("p1", "你 这个 傻 逼", "好"),
        pair("p2", "今天 天气 怎么样", "好"),
        pair("p3", "你好 呀", "你好", "嗯"),
    ]
    write_ranking_set(tmp_path / "in", records, Manifest("ranking-set", licence="CC0"))
    plan = parse_plan(["offensive:drop", "needs-knowledge:drop", "short", "duplicates"])
    report = CleaningReport()
    result = clean_corpus(tmp_path / "in", tmp_path / "out", plan, report)
    assert isinstance(result, RankingSet)
    (kept,) = result.records()
    assert kept.context.id == "p3"
    assert kept.candidates[1].attributes["clean"][0]["kind"] == "few words"
    assert (report.unit, report.language) == ("contexts", "zh")
    assert result.manifest.counts == {"contexts": 1, "candidates": 2}
    assert result.manifest.licence == "CC0"


def test_a_context_without_candidates_stays() -> None:
    assert len(cleaned([pair("p", "hello there")], "offensive:drop")[0]) == 1
