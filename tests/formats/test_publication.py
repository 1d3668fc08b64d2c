"""Recounts of publications: each measure against a count by hand, the two raters before and after a filter, what is chosen."""

import io
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.artefact import Manifest
from tertulia.cli.corpus_verify import verify
from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import (
    Annotation,
    Candidate,
    Context,
    Dialogue,
    RankingRecord,
    Rating,
    Record,
    Role,
    Turn,
    Utterance,
)
from tertulia.corpus.ranking_set import RankingSet, write_ranking_set
from tertulia.corpus.store import Corpus, write_corpus
from tertulia.errors import ConfigurationError
from tertulia.formats.ccpe import CcpeFormat
from tertulia.formats.dialeval.format import DialEvalFormat
from tertulia.formats.mantis.format import MantisFormat
from tertulia.formats.verification.publication import Figure, publication_names, read_publication, verify_corpus
from tertulia.formats.verification.rater_agreement import RaterAgreement
from tertulia.formats.verification.recount import CORPUS_MEASURES, RANKING_MEASURES, Counting, Scope, counter_of
from tertulia.measures.agreement import cohen_kappa

RankingSets = Callable[..., RankingSet]


def utterance(position: int, text: str, role: Role | None = None) -> Utterance:
    return Utterance(position, position, role or "AB"[position % 2], text, role)


def annotation(layer: str, annotator: str, position: int | None, label: str | None = None, **more: Any) -> Annotation:
    return Annotation("d", layer, annotator, position, label=label, **more)


# Two dialogues whose every count is written out below.
FIRST = Record(
    Dialogue(
        "a",
        [
            utterance(0, "my parcel is late", "user"),
            utterance(1, "which number", "agent"),
            utterance(2, "seven", "user"),
            utterance(3, "it comes on https://monday.example", "agent"),
        ],
        "post",
        "train",
        attributes={"worker": "w1"},
    ),
    [
        annotation("intent", "x", 0, "OQ"),
        annotation("intent", "y", 0, "OQ"),
        annotation("intent", "x", 1, "IR"),
        annotation("intent", "x", 1, "GG"),
        annotation("intent", "y", 1, "IR"),
        annotation("quality.A", "x", None, value=2),
        annotation("quality.A", "y", None, value=-1),
        annotation("preference", "x", 2, "ENTITY_NAME", attributes={"entity_type": "PERSON"}),
        annotation("preference", "x", 2, "ENTITY_OTHER", attributes={"entity_type": "PERSON"}),
    ],
)
SECOND = Record(
    Dialogue(
        "b",
        [utterance(0, "hello", "user"), utterance(1, "", "agent"), utterance(2, "is anybody there", "user")],
        "bank",
        "dev",
        attributes={"worker": "w1"},
    ),
    [annotation("intent", "x", 0, "GG"), annotation("intent", "x", 2, "OQ")],
)
COUNTS: list[tuple[str, Scope, float | None]] = [
    ("dialogues", Scope(), 2),
    ("conversations", Scope(), 2),
    ("turns", Scope(), 7),
    ("utterances", Scope(), 7),
    ("words", Scope(), 4 + 2 + 1 + 4 + 1 + 0 + 3),
    ("people", Scope(), 1),
    ("domains", Scope(), 2),
    ("annotations", Scope(layer="intent"), 7),
    ("annotations", Scope(layer="preference", label="ENTITY_NAME"), 1),
    ("annotations", Scope(layer="preference", attributes=(("entity_type", "PERSON"),)), 2),
    ("annotations", Scope(layer="preference", attributes=(("entity_type", "MOVIE"),)), 0),
    ("labels", Scope(layer="intent"), 3),
    ("entity types", Scope(layer="preference"), 1),
    ("values", Scope(layer="quality.A"), 2),
    ("fewest annotators", Scope(layer="intent"), 1),
    ("most annotators", Scope(layer="intent"), 2),
    ("fewest annotators", Scope(layer="quality.A"), 2),
    ("most annotators", Scope(layer="nothing"), None),
    ("annotated dialogues", Scope(layer="quality.A"), 1),
    ("annotated utterances", Scope(layer="intent"), 4),
    ("share with several labels", Scope(layer="intent"), 1 / 4),
    ("share with several labels", Scope(layer="nothing"), None),
    ("share of utterances", Scope(layer="intent", label="OQ"), 2 / 4),
    ("annotators without it", Scope(layer="intent", label="GG"), 1 / 3),
    # Of the two utterances that both labelled they agree on the set of labels of the first only.
    ("Krippendorff's alpha", Scope(layer="intent"), 1 - 3 * 2 / (16 - (4 + 1 + 1))),
    ("Krippendorff's alpha", Scope(layer="preference"), None),
    ("without two utterances each", Scope(), 1),
    ("without two speakers", Scope(), 0),
    ("without a link by the agent", Scope(), 1),
]


@pytest.mark.parametrize(("measure", "scope", "expected"), COUNTS, ids=lambda value: str(value)[:40])
def test_each_measure_of_a_corpus_is_what_one_counts_by_hand(
    measure: str, scope: Scope, expected: float | None
) -> None:
    counter = counter_of(measure, scope, CORPUS_MEASURES)
    for record in (FIRST, SECOND):
        counter.add(record)
    assert counter.result() == (None if expected is None else pytest.approx(expected))


def test_every_measure_of_a_corpus_is_counted_by_hand() -> None:
    assert {measure for measure, _, _ in COUNTS} == set(CORPUS_MEASURES)
    nothing: dict[str, Counting] = {name: counter_of(name, Scope(), CORPUS_MEASURES) for name in CORPUS_MEASURES}
    assert all(counter.result() in (0, None) for counter in nothing.values())


def ranking_record(
    identifier: str, prompt: str, responses: list[tuple[str, float, float]], split: str | None = None
) -> RankingRecord:
    candidates = [
        Candidate(i, text, (r1 + r2) / 2, [Rating("r1", r1), Rating("r2", r2)])
        for i, (text, r1, r2) in enumerate(responses)
    ]
    return RankingRecord(Context(identifier, [Turn("user", prompt)], split=split), candidates)


RATED = [
    ranking_record("1", "我 来 了", [("欢迎 你", 5, 4), ("哦", 2, 2), ("不 对 吧", 1, 4)], "train"),
    ranking_record("2", "早", [("早 呀", 4, 4)], "dev"),
    ranking_record("3", "下雨 了", [("带 伞", 5, 5), ("好", 3, 2)], "test"),
]


@pytest.mark.parametrize(
    ("measure", "scope", "expected"),
    [
        ("prompts", Scope(), 3),
        ("distinct prompts", Scope(), 3),
        ("responses", Scope(), 6),
        ("fewest responses", Scope(), 1),
        ("most responses", Scope(), 3),
        ("words a prompt", Scope(), (3 + 1 + 2) / 3),
        ("words a response", Scope(), (2 + 1 + 3 + 2 + 2 + 1) / 6),
        ("vocabulary", Scope(), len("我来了欢迎你哦不对吧早呀下雨带伞好") - 2),
        # The means are 4.5, 2, 2.5, 4, 5 and 2.5.
        ("share of responses", Scope(low=2.5, high=3.5), 2 / 6),
        ("share of responses", Scope(high=2.5), 3 / 6),
        ("share of responses", Scope(below=2.5), 1 / 6),
    ],
)
def test_each_measure_of_a_ranking_set_is_what_one_counts_by_hand(measure: str, scope: Scope, expected: float) -> None:
    counter = counter_of(measure, scope, RANKING_MEASURES)
    for record in RATED:
        counter.add(record)
    assert counter.result() == pytest.approx(expected)


def test_a_prompt_that_stands_twice_is_one_distinct_prompt() -> None:
    counter = counter_of("distinct prompts", Scope(), RANKING_MEASURES)
    for identifier, texts in (("1", ["a", "b"]), ("2", ["a", "b"]), ("3", ["ab"]), ("4", ["a", "b", ""])):
        counter.add(RankingRecord(Context(identifier, [Turn(None, text) for text in texts])))
    assert counter.result() == 3


def test_distinct_values_are_counted_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.formats.verification.recount.MOST_DISTINCT", 5)
    for measure in ("vocabulary", "distinct prompts"):
        counter = counter_of(measure, Scope(), RANKING_MEASURES)
        results = []
        for number in range(8):
            counter.add(RankingRecord(Context(str(number), [Turn(None, f"word{number}")])))
            results.append(counter.result())
        assert results == [1, 2, 3, 4, 5, None, None, None]


def test_responses_that_nobody_rated_have_no_share() -> None:
    counter = counter_of("share of responses", Scope(), RANKING_MEASURES)
    counter.add(RankingRecord(Context("1", []), [Candidate(0, "a")]))
    assert counter.result() is None


# -- the two raters ---------------------------------------------------------------------------------------------------


def test_the_raters_before_and_after_the_filter() -> None:
    raters = RaterAgreement([1, 2, 3, 4, 5], 2)
    for record in RATED:
        raters.add(record)
    pairs = [(c.ratings[0].value, c.ratings[1].value) for record in RATED for c in record.candidates]
    kept = [(one, other) for one, other in pairs if abs(one - other) < 2]
    found = raters.to_json()
    assert found is not None
    assert (found["before"]["pairs"], found["after"]["pairs"], found["dropped"]) == (6, 5, 1)
    for stage, expected in (("before", pairs), ("after", kept)):
        first, second = zip(*expected, strict=True)
        for name, weights in (("plain", None), ("linear", "linear"), ("quadratic", "quadratic")):
            kappa = cohen_kappa(first, second, weights=weights, categories=[1.0, 2.0, 3.0, 4.0, 5.0])  # type: ignore[arg-type]
            estimate = found[stage]["kappa"][name]
            assert estimate["value"] == pytest.approx(kappa)
            assert estimate["low"] <= estimate["value"] <= estimate["high"]
        assert found[stage]["equal"] == pytest.approx(3 / len(expected))
    assert found["after"]["kappa"]["plain"]["value"] > found["before"]["kappa"]["plain"]["value"]
    assert raters.figures()["pairs dropped"] == 1


def test_a_prompt_whose_responses_are_all_dropped_is_not_counted(sets: RankingSets) -> None:
    with sets([*RATED, ranking_record("4", "走", [("再见", 1, 5)])]) as rated:
        found = verify_corpus(rated, publication="tencent-rated")
    assert figures_of(found)["all", "prompts"] == 3
    assert figures_of(found)["rated two grades or more apart", "pairs dropped"] == 2
    assert sum("2 pairs rated 2 or more apart are in no figure" in note for note in found["notes"]) == 1


def test_a_set_that_was_filtered_before_does_not_tell_what_was_dropped(sets: RankingSets) -> None:
    with sets([ranking_record("1", "走", [("再见", 1, 2), ("好", 4, 4), ("哦", 2, 2)])]) as rated:
        found = verify_corpus(rated, publication="tencent-rated")
    figures = figures_of(found)
    assert figures["rated two grades or more apart", "pairs dropped"] is None
    assert figures["before pairs were dropped", "pairs before the filter"] is None
    assert figures["pairs that were kept", "Cohen's kappa after the filter"] == pytest.approx(1 - (1 / 3) / (6 / 9))
    assert any("the filter was applied before" in note for note in found["notes"])
    assert found["agreement"]["before"] == found["agreement"]["after"]


def test_only_pairs_of_ratings_on_the_scale_are_compared() -> None:
    raters = RaterAgreement([1, 2, 3, 4, 5], 2)
    ratings = [[], [3], [3, 3, 4], [0, 5], [2.5, 3], [4, 4], [1, 2]]
    candidates = [
        Candidate(i, "a", ratings=[Rating(f"r{n}", value) for n, value in enumerate(values)])
        for i, values in enumerate(ratings)
    ]
    raters.add(RankingRecord(Context("1", []), candidates))
    found = raters.to_json()
    assert found is not None
    assert (found["before"]["pairs"], found["not_two_ratings"], found["off_the_scale"]) == (2, 2, 2)
    assert RaterAgreement([1, 2], 2).to_json() is None
    assert RaterAgreement([1, 2], 2).figures() == {}


def test_perfect_raters_of_one_grade_have_no_kappa() -> None:
    raters = RaterAgreement([1, 2, 3, 4, 5], 2)
    raters.add(ranking_record("1", "p", [("a", 4, 4), ("b", 4, 4)]))
    found = raters.to_json()
    assert found is not None
    assert found["before"]["kappa"]["plain"] == {"value": None, "low": None, "high": None}
    json.dumps(found, allow_nan=False)


# -- figures ----------------------------------------------------------------------------------------------------------


def test_a_figure_is_met_as_exactly_as_it_is_printed() -> None:
    share = Figure("w", "m", stated=0.489, unit="share", digits=3)
    assert [share.is_met(value) for value in (0.4885, 0.48949, 0.4895, 0.4884, 0.49)] == [
        True,
        True,
        True,
        False,
        False,
    ]
    count = Figure("w", "m", stated=502)
    assert [count.is_met(value) for value in (502, 501, 503)] == [True, False, False]
    over = Figure("w", "m", stated=80_000, at_least=True)
    assert [over.is_met(value) for value in (79_999, 80_000, 90_000)] == [False, True, True]
    drawn = Figure("w", "m", stated=0.43, unit="share", digits=2, tolerance=0.01)
    assert [drawn.is_met(value) for value in (0.44, 0.42, 0.45)] == [True, True, False]
    assert count.is_met(None) is None
    assert Figure("w", "m").is_met(3) is None


@given(st.floats(0, 1), st.integers(1, 4))
def test_what_rounds_to_the_stated_number_meets_it(value: float, digits: int) -> None:
    assert Figure("w", "m", stated=round(value, digits), digits=digits).is_met(value)


@pytest.mark.parametrize("name", publication_names())
def test_a_shipped_publication_is_whole(name: str) -> None:
    stated = read_publication(name)
    measures = {*CORPUS_MEASURES} if stated.kind == "corpus" else {*RANKING_MEASURES, *RaterAgreement.MEASURES}
    assert stated.title
    assert {figure.measure for figure in stated.figures} <= measures
    assert {figure.unit for figure in stated.figures} <= {"count", "share", "number"}
    assert sum(figure.size for figure in stated.figures) == 1
    assert len({(figure.what, figure.measure) for figure in stated.figures}) == len(stated.figures)
    for figure in stated.figures:
        assert figure.stated is None or math.isfinite(figure.stated)
        assert figure.unit != "share" or figure.stated is None or 0 <= figure.stated <= 1
        assert figure.unit == "count" or figure.digits


# -- corpora and sets on disk -----------------------------------------------------------------------------------------


@pytest.fixture
def sets(tmp_path: Path) -> RankingSets:
    """Writes a ranking set; its name tells it from others."""

    def made(records: Iterable[RankingRecord], name: str = "set", **details: Any) -> RankingSet:
        return write_ranking_set(tmp_path / name, records, Manifest("ranking-set", details=details))

    return made


def figures_of(found: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {(figure["what"], figure["measure"]): figure["found"] for figure in found["figures"]}


def test_a_rated_set_is_held_against_its_publication_when_it_is_asked_for(sets: RankingSets) -> None:
    with sets(RATED, format="rated-tsv") as rated:
        assert verify_corpus(rated)["publication"] is None
        found = verify_corpus(rated, publication="tencent-rated")
    figures = figures_of(found)
    assert figures["all", "prompts"] == 3
    # What the filter drops is in no other figure.
    assert figures["train", "responses"] == 2
    assert figures["all", "responses"] == 5
    assert figures["rated 2.5 to 3.5", "share of responses"] == 1 / 5
    assert figures["dev", "words a prompt"] == 1
    assert figures["test", "words a response"] == 1.5
    assert figures["rated two grades or more apart", "pairs dropped"] == 1
    assert figures["before pairs were dropped", "pairs before the filter"] == 6
    kappa = found["agreement"]["after"]["kappa"]["plain"]["value"]
    assert figures["pairs that were kept", "Cohen's kappa after the filter"] == kappa
    assert found["partial"] == {"what": "responses", "found": 5, "published": 82_010}
    assert any("11K" in line for line in found["contradictions"])
    json.dumps(found, allow_nan=False)


def test_a_manifest_can_name_the_publication(sets: RankingSets) -> None:
    with sets(RATED, publication="tencent-rated") as rated:
        assert verify_corpus(rated)["name"] == "tencent-rated"


def test_what_cannot_be_recounted_is_said(sets: RankingSets) -> None:
    means = [RankingRecord(Context("1", [Turn("user", "你 好")]), [Candidate(0, "好", 3.5)])]
    with sets(means) as rated:
        found = verify_corpus(rated, publication="tencent-rated")
    figures = figures_of(found)
    assert figures["train", "prompts"] is None
    assert figures["rated two grades or more apart", "pairs dropped"] is None
    assert figures["rated 2.5 to 3.5", "share of responses"] == 1
    assert found["agreement"] is None
    assert any("no splits" in note for note in found["notes"])
    assert any("mean ratings only" in note for note in found["notes"])
    with sets([], "empty") as rated:
        found = verify_corpus(rated, publication="tencent-rated")
    assert figures_of(found)["responses of a prompt", "most responses"] is None
    assert any("no ratings" in note for note in found["notes"])


def test_wrong_publications_are_one_clear_error(sets: RankingSets, small_corpus: Path) -> None:
    with sets(RATED) as rated, pytest.raises(ConfigurationError, match="is of a corpus, but this is a ranking-set"):
        verify_corpus(rated, publication="ccpe")
    with Corpus(small_corpus) as corpus:
        with pytest.raises(ConfigurationError, match="is of a ranking-set"):
            verify_corpus(corpus, publication="tencent-rated")
        for name in ("nothing", "../publications/ccpe", "", "ccpe.toml"):
            with pytest.raises(ConfigurationError, match=r"is known \(known are: ccpe"):
                verify_corpus(corpus, publication=name)


def write(path: Path, records: Iterable[Record], format_name: str) -> Corpus:
    return write_corpus(path, records, Manifest("corpus", details={"format": format_name}))


def labelled(number: int, texts: list[str], split: str, annotators: int) -> Record:
    notes = [
        note
        for who in range(annotators)
        for note in (
            Annotation(f"d{number}", "nugget", f"{who:02d}", 0, label="CNUG0" if who else "CNUG"),
            Annotation(f"d{number}", "quality.A", f"{who:02d}", value=float(who % 5 - 2)),
        )
    ]
    return Record(Dialogue(f"d{number}", [utterance(i, t) for i, t in enumerate(texts)], split=split), notes)


@pytest.mark.parametrize(
    ("texts", "name"),
    [(["你好", "您好"], "dialeval"), (["", ""], "dialeval"), (["hello", "good day"], "dialeval-english")],
)
def test_dialeval_is_told_by_its_script(tmp_path: Path, texts: list[str], name: str) -> None:
    records = [labelled(n, texts, "train" if n % 3 else "test", 18 + n % 2) for n in range(6)]
    with write(tmp_path / "c", records, "dialeval") as corpus:
        found = verify_corpus(corpus)
    assert found["name"] == name
    figures = figures_of(found)
    assert figures["train", "dialogues"] == 4
    assert figures["dev", "dialogues"] == 2
    assert figures["annotators of a dialogue", "fewest annotators"] == 18
    assert figures["annotators of a dialogue", "most annotators"] == 19
    assert figures["annotators' records without a trigger", "annotators without it"] == pytest.approx(6 / (3 * 37))
    said = " ".join(found["contradictions"])
    assert ("2,251 + 390 in the same text make 2,641" in said) == (name == "dialeval-english")


def test_a_layer_that_is_absent_is_said_once(tmp_path: Path) -> None:
    with write(tmp_path / "c", [FIRST, SECOND], "mantis") as corpus:
        found = verify_corpus(corpus)
    figures = figures_of(found)
    assert figures["intents", "annotated dialogues"] == 2
    assert figures["Original Question", "share of utterances"] == 0.5
    assert found["notes"][0].startswith("whether original")
    without = [Record(record.dialogue) for record in (FIRST, SECOND)]
    with write(tmp_path / "d", without, "mantis") as corpus:
        found = verify_corpus(corpus)
    assert figures_of(found)["intents", "annotated dialogues"] is None
    assert sum("no annotations in the layer “intent”" in note for note in found["notes"]) == 1


def test_a_whole_corpus_is_no_part(tmp_path: Path) -> None:
    records = [Record(Dialogue(f"{n:03}", [utterance(0, "hello")])) for n in range(502)]
    with write(tmp_path / "c", records, "ccpe") as corpus:
        found = verify_corpus(corpus)
    assert found["partial"] is None
    met = {(f["what"], f["measure"]): f["met"] for f in found["figures"]}
    assert met["all", "dialogues"] is True
    assert met["all", "utterances"] is False
    assert met["ENTITY_NAME", "annotations"] is None


# -- what is printed --------------------------------------------------------------------------------------------------


def test_the_table_is_readable(sets: RankingSets, capsys: pytest.CaptureFixture[str]) -> None:
    with sets(RATED) as rated:
        verify(rated.path, publication="tencent-rated")
    out, _ = capsys.readouterr()
    assert "every file is as its manifest says" in out
    lines = out.splitlines()
    [share] = [line for line in lines if line.startswith("rated 2.5 to 3.5")]
    assert share.split()[-5:] == ["%", "20.0", "%", "-28.9", "pp"]
    [kappa] = [line for line in lines if line.startswith("pairs that were kept")]
    assert "80.0 %" in kappa
    assert "This corpus holds 5 of 82,010 responses" in out
    assert "before the filter  after: less than 2 apart" in out
    assert "The publication contradicts itself: it speaks of 11K pairs" in out
    assert not any(line.endswith(" ") for line in lines)
    assert max(len(line) for line in lines[3:30]) <= 120


@pytest.mark.parametrize(("encoding", "marks"), [("utf-8", "✓✗"), ("ascii", ("yes", "no"))])
def test_marks_are_words_where_the_terminal_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, marks: str
) -> None:
    records = [Record(Dialogue(f"{n:03}", [utterance(0, "hello")])) for n in range(502)]
    write(tmp_path / "c", records, "ccpe").close()
    printed = io.BytesIO()
    monkeypatch.setattr(
        "sys.stdout", io.TextIOWrapper(printed, encoding=encoding, errors="replace", write_through=True)
    )
    verify(tmp_path / "c")
    lines = printed.getvalue().decode(encoding).splitlines()
    assert next(line for line in lines if line.startswith("all ")).endswith(f"502    502           0  {marks[0]}")
    assert next(line for line in lines if "11,972" in line).endswith(f"-11,470  {marks[1]}")
    assert next(line for line in lines if "over 10,000" in line).split()[-1] in "–?"
    assert "1 of 2 figures are met exactly." in lines


def test_no_publication_is_said_with_those_that_are_known(
    small_corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verify(small_corpus)
    out, _ = capsys.readouterr()
    assert "No publication is known for its format" in out
    assert "tencent-rated" in out
    verify(small_corpus, json_=True)
    assert json.loads(capsys.readouterr().out)["figures"] == []


# -- the public data --------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_the_released_prompts_are_as_many_as_stated_only_by_their_runs(data: Path, sets: RankingSets) -> None:
    source = data / "rated_responses" / "tencent" / "data_Q.txt"
    if not source.is_file():
        pytest.skip(f"the prompts of the rated corpus are not at {source}")
    lines = source.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
    records = (
        RankingRecord(Context(f"{n:05}", [Turn("user", prompt)]), [Candidate(i, "") for i, _ in enumerate(run)])
        for n, (prompt, run) in enumerate(itertools.groupby(lines))
    )
    with sets(records) as rated:
        found = verify_corpus(rated, publication="tencent-rated")
    figures = {(f["what"], f["measure"]): (f["published"], f["found"]) for f in found["figures"]}
    assert figures["all", "prompts"] == (27_383, 27_383)
    assert figures["all", "distinct prompts"] == (None, 27_378)
    assert figures["all", "responses"] == (82_010, 82_010)
    assert figures["responses of a prompt", "fewest responses"] == (1, 1)
    assert figures["responses of a prompt", "most responses"] == (20, 20)
    assert found["partial"] is None


def imported(source: Path, reader: Any, path: Path) -> Corpus:
    return write(path, reader.read(str(source), Report(), ReadOptions()), reader.name)


@pytest.mark.data
def test_the_labels_of_dialeval_are_as_stated(data: Path, tmp_path: Path) -> None:
    source = data / "dialeval" / "labels_only_ccby4.json"
    if not source.is_file():
        pytest.skip(f"the labels of DialEval are not at {source}")
    with imported(source, DialEvalFormat(), tmp_path / "c") as corpus:
        found = verify_corpus(corpus)
    assert found["name"] == "dialeval"
    assert all(figure["met"] in (True, None) for figure in found["figures"])
    assert [f["found"] for f in found["figures"] if f["measure"] == "dialogues"] == [4_090, 3_700, 390]
    assert figures_of(found)["annotators' records without a trigger", "annotators without it"] == pytest.approx(
        13_088 / 77_710
    )


@pytest.mark.data
def test_parts_of_released_corpora_are_parts(data: Path, tmp_path: Path) -> None:
    ccpe, sheets = data / "ccpe" / "ccpe_entity_names_400.json", data / "mantis" / "labels.txt"
    if not (ccpe.is_file() and sheets.is_file()):
        pytest.skip("the parts of CCPE and MANtIS are not there")
    with imported(ccpe, CcpeFormat(), tmp_path / "c") as corpus:
        found = verify_corpus(corpus)
    assert found["partial"] == {"what": "dialogues", "found": 400, "published": 502}
    assert figures_of(found)["all", "utterances"] == 9_586
    with imported(sheets, MantisFormat(), tmp_path / "m") as corpus:
        found = verify_corpus(corpus)
    assert found["partial"] == {"what": "dialogues", "found": 101, "published": 80_000}
    assert [f["found"] for f in found["figures"] if f["what"] == "against the criterion"] == [0, 0, 0]
    assert figures_of(found)["intents", "annotated utterances"] is None


def test_the_documentation_names_every_publication_and_its_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "verification.md").read_text(encoding="utf-8")
    for name in publication_names():
        assert f"| `{name}` |" in text
    [example] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(example, "verification.md", "exec"), {})
    assert "Interval(low=" in capsys.readouterr().out
