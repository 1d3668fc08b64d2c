"""What people say of marks, and the marks applied."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tertulia.artefact import Manifest, read_manifest
from tertulia.corpus.cleaning.applying import apply_to_context, apply_to_dialogue
from tertulia.corpus.cleaning.clean import apply_marks, clean_corpus
from tertulia.corpus.cleaning.plan import parse_plan
from tertulia.corpus.cleaning.report import CleaningReport
from tertulia.corpus.cleaning.review import Reviews, majority
from tertulia.corpus.model import Annotation, Record
from tertulia.corpus.ranking_set import RankingSet, write_ranking_set
from tertulia.corpus.store import write_corpus

from .makers import pair, record

MARK = Annotation("a", "clean.personal", "filter:personal", 0, 9, 22, "e-mail")
OTHER = Annotation("a", "clean.offensive", "filter:offensive", 1, 0, 3, "insult")


def review(annotator: str, label: str, mark: Annotation = MARK, **attributes: str) -> Annotation:
    return Annotation(
        "a", "clean.review", annotator, mark.position, mark.start, mark.end, label, attributes=dict(attributes)
    )


def marked(*notes: Annotation) -> Record:
    return record("a", "write to a@example.com or so", "you there", notes=(MARK, OTHER, *notes))


@pytest.mark.parametrize(
    ("votes", "decision"),
    [
        ([], None),
        (["keep"], "keep"),
        (["remove"], "remove"),
        (["keep", "remove"], None),
        (["keep", "remove", "keep"], "keep"),
    ],
)
def test_most_people_decide(votes: list[str], decision: str | None) -> None:
    assert majority(votes) == decision


@pytest.mark.parametrize(
    ("notes", "decision"),
    [
        ([], None),
        ([review("ann", "keep")], "keep"),
        ([review("filter:personal", "keep")], None),
        ([review("ann", "keep"), review("bob", "remove")], None),
        ([review("ann", "remove"), review("ann", "keep")], None),
        ([review("ann", "remove"), review("ann", "keep"), review("bob", "keep")], "keep"),
        ([review("ann", "keep", filter="personal")], "keep"),
        ([review("ann", "keep", filter="offensive")], None),
        ([review("ann", "keep", filter="personal"), review("ann", "remove")], "keep"),
        ([review("ann", "keep", OTHER)], None),
        ([review("ann", "maybe")], None),
    ],
)
def test_a_review_is_about_the_marks_at_its_place(notes: list[Annotation], decision: str | None) -> None:
    assert Reviews(notes).decision(MARK) == decision


def applied(
    item: Record, action: str, filters: Sequence[str] = (), reviewed: bool = False
) -> tuple[Record | None, CleaningReport]:
    report = CleaningReport()
    return apply_to_dialogue(item, action, filters, report, reviewed=reviewed), report  # type: ignore[arg-type]


def test_marks_are_masked_and_gone_unless_people_keep_them() -> None:
    after, report = applied(marked(review("ann", "keep", OTHER)), "mask")
    assert after is not None
    assert after.dialogue.texts == ["write to [E-MAIL] or so", "you there"]
    assert [note.layer for note in after.annotations] == ["clean.offensive", "clean.review"]
    assert report.masked == 1
    assert list(report.notes.noted) == ["marks kept: offensive"]


def test_a_mark_drops_its_dialogue_unless_people_keep_it() -> None:
    assert applied(marked(), "drop")[0] is None
    assert applied(marked(review("ann", "keep")), "drop")[0] is None
    kept, report = applied(marked(review("ann", "keep"), review("ann", "keep", OTHER)), "drop")
    assert kept == marked(review("ann", "keep"), review("ann", "keep", OTHER))
    assert report.dropped == {}


def test_filters_may_be_chosen() -> None:
    after, _ = applied(marked(), "mask", ["offensive"])
    assert after is not None
    assert after.dialogue.texts == ["write to a@example.com or so", "[INSULT] there"]
    assert MARK in after.annotations


def test_only_reviewed_marks_where_that_is_asked_for() -> None:
    assert applied(marked(), "drop", reviewed=True)[0] is not None
    assert applied(marked(review("ann", "remove")), "drop", reviewed=True)[0] is None
    assert applied(marked(review("ann", "remove"), review("bob", "keep")), "drop", reviewed=True)[0] is not None


def test_people_may_make_marks() -> None:
    own = Annotation("a", "clean.personal", "ann", 1, 4, 9, "name")
    after, _ = applied(record("a", "x", "you there", notes=(own,)), "mask")
    assert after is not None
    assert after.dialogue.texts[1] == "you [NAME]"


def test_a_mark_without_a_span_masks_the_utterance_and_one_on_no_text_stays() -> None:
    whole = Annotation("a", "clean.language", "filter:language", 0, label="fr")
    dialogue = Annotation("a", "clean.duplicates", "filter:duplicates", label="near duplicate")
    gone = Annotation("a", "clean.language", "filter:language", 7, label="fr")
    after, report = applied(record("a", "bonjour", notes=(whole, dialogue, gone)), "mask")
    assert after is not None
    assert after.dialogue.texts == ["[FR]"]
    assert after.annotations == [dialogue, gone]
    assert sum(finding.count for finding in report.notes.noted.values()) == 2


def test_a_mark_on_a_title_masks_the_title() -> None:
    note = Annotation(
        "a", "clean.personal", "filter:personal", label="e-mail", attributes={"in": "title", "start": 5, "end": 18}
    )
    after, _ = applied(record("a", "x", title="mail a@example.com", notes=(note,)), "mask")
    assert after is not None
    assert after.dialogue.title == "mail [E-MAIL]"


def test_other_labels_of_reviews_are_counted() -> None:
    _, report = applied(marked(review("ann", "perhaps")), "mask")
    assert report.notes.noted["reviews with a label other than keep and remove"].count == 1


def test_spans_that_are_not_in_the_text_mask_the_whole_of_it() -> None:
    note = Annotation("a", "clean.x", "ann", 0, 5, 500, "bad")
    after, _ = applied(record("a", "short text", notes=(note,)), "mask")
    assert after is not None
    assert after.dialogue.texts == ["[BAD]"]


def test_marking_then_applying_is_masking(tmp_path: Path) -> None:
    records = [record("a", "write to a@example.com", "what the fuck"), record("b", "good day to you", "and to you")]
    write_corpus(tmp_path / "in", records, Manifest("corpus"))
    clean_corpus(tmp_path / "in", tmp_path / "marked", parse_plan(["personal", "offensive"]))
    report = CleaningReport()
    after = apply_marks(tmp_path / "marked", tmp_path / "applied", "mask", report)
    at_once = clean_corpus(tmp_path / "in", tmp_path / "masked", parse_plan(["personal:mask", "offensive:mask"]))
    assert list(after.records()) == list(at_once.records())
    assert read_manifest(tmp_path / "applied").options == {"apply": "mask", "filters": [], "reviewed": False}
    assert (report.read, report.kept, report.masked) == (2, 2, 2)
    dropped = apply_marks(tmp_path / "marked", tmp_path / "dropped", "drop")
    assert [item.dialogue.id for item in dropped.records()] == ["b"]


# -- ranking sets -----------------------------------------------------------------------------------------------------


def test_marks_of_a_ranking_set_are_applied_too(tmp_path: Path) -> None:
    records = [pair("p1", "write to a@example.com", "fuck off", "fine"), pair("p2", "hello there", "you idiot")]
    write_ranking_set(tmp_path / "in", records, Manifest("ranking-set"))
    clean_corpus(tmp_path / "in", tmp_path / "marked", parse_plan(["personal", "offensive"]))
    report = CleaningReport()
    masked = apply_marks(tmp_path / "marked", tmp_path / "masked", "mask", report)
    assert isinstance(masked, RankingSet)
    first, second = masked.records()
    assert first.context.texts == ["write to [E-MAIL]"]
    assert [candidate.text for candidate in first.candidates] == ["[PROFANITY] off", "fine"]
    assert [candidate.text for candidate in second.candidates] == ["[INSULT]"]
    assert all(not part.attributes for record_ in (first, second) for part in (record_.context, *record_.candidates))
    dropped = apply_marks(
        tmp_path / "marked", tmp_path / "dropped", "drop", report := CleaningReport(), filters=["offensive"]
    )
    (kept,) = dropped.records()
    assert [(candidate.position, candidate.text) for candidate in kept.candidates] == [(0, "fine")]
    assert kept.context.attributes["clean"][0]["filter"] == "personal"
    assert report.candidates_dropped == {"offensive": 2}
    assert "contexts left out for want of a candidate" in report.notes.noted


def test_a_review_in_a_mark_of_a_ranking_set_counts() -> None:
    item = pair("p", "hello there", "you idiot")
    item.candidates[0].attributes["clean"] = [
        {"filter": "offensive", "kind": "insult", "start": 0, "end": 9, "review": {"ann": "keep"}},
        "somebody else's",
    ]
    assert apply_to_context(item, "drop", (), CleaningReport()) == item
    item.candidates[0].attributes["clean"][0]["review"] = {"ann": "keep", "bob": "remove", "eve": "remove"}
    assert apply_to_context(item, "drop", (), CleaningReport()) is None
