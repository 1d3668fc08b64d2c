"""``usr``: responses to Topical-Chat and Persona-Chat contexts with what people say of them (Mehri and Eskenazi 2020).

There are two layouts. In the authors' own, an element of the JSON list is a context with its responses, and each question has a
list with the answer of each annotator. In the other, an element is one response, and each question has the mean of the answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tertulia.corpus.exchange import NO_OPTIONS, Holds, Place, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Candidate, Context, RankingRecord, Rating
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.files import fields
from tertulia.formats.files.context_ids import ContextIds, split_of
from tertulia.formats.files.json_reading import json_elements
from tertulia.formats.files.sources import SourceFile, source_files
from tertulia.formats.ranking_tsv import alternating

__all__ = ["UsrFormat"]

# The questions by the names that they have in the two layouts.
_QUESTIONS = {
    "Understandable": "understandability",
    "Natural": "naturalness",
    "Maintains Context": "coherence",
    "Engaging": "engagingness",
    "Uses Knowledge": "groundedness",
    "Overall": "overall",
}
_OVERALL = "overall"
_MOST_RESPONSES = 10_000


class UsrFormat:
    """Reads responses with human scores."""

    name = "usr"
    summary = "JSON of contexts with responses and human scores (USR: Topical-Chat, Persona-Chat)"
    writes = False
    holds: Holds = "ranking-set"
    options = NO_OPTIONS
    licence = None
    citation = (
        "Mehri, S., Eskenazi, M. (2020). USR: An Unsupervised and Reference Free Evaluation Metric for Dialog Generation. "
        "Proceedings of ACL 2020"
    )

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[RankingRecord]:
        """The contexts of a file, or of all ``*.json`` files of a folder or zip archive."""
        ids, texts = ContextIds(), SeenTexts()
        for file in source_files(source, "*.json", expected="JSON lists of responses with scores", options=options):
            for place, record in _records(file, report, options):
                record.context.split = split_of(file.name)
                record.context.id = ids.next(record.context.split)
                found = [*record.context.texts, *(candidate.text for candidate in record.candidates)]
                if not report.is_duplicate(found, texts, options, place.shown):
                    yield record

    def write(self, records: Iterator[RankingRecord], path: str, report: Report) -> None:  # noqa: ARG002 - it refuses
        """This format is only read."""
        raise ConfigurationError("the format 'usr' is read, not written")


def _records(file: SourceFile, report: Report, options: ReadOptions) -> Iterator[tuple[Place, RankingRecord]]:
    """The contexts of a file; responses that follow each other with the same context are together."""
    before: RankingRecord | None = None
    start = file.place(1)
    for _, value, place in json_elements(file, options):
        record = None
        with report.catching(options, place):
            record = _element(value, report, place)
        if record is None:
            continue
        if before is not None and _same(before.context, record.context) and "responses" not in value:
            for candidate in record.candidates:
                candidate.position = len(before.candidates)
                before.candidates.append(candidate)
            if len(before.candidates) > _MOST_RESPONSES:
                raise InputError(f"a context has more than {_MOST_RESPONSES:,} responses", where=place.full)
            continue
        if before is not None:
            yield start, before
        before, start = record, place
    if before is not None:
        yield start, before


def _same(one: Context, other: Context) -> bool:
    return one.turns == other.turns and one.attributes == other.attributes


def _element(value: Any, report: Report, place: Place) -> RankingRecord:
    if not isinstance(value, dict):
        raise InputError(f"holds {fields.found(value)}; expected an object")
    if "responses" in value:
        return _with_annotators(value, report, place)
    if "system_output" in value:
        return _with_means(value, report, place)
    raise InputError("has neither responses nor system_output; expected a context with its responses, or one response")


def _with_annotators(value: dict[str, Any], report: Report, place: Place) -> RankingRecord:
    """A context of the authors' own layout."""
    annotators = fields.texts(value, "annotators")
    if len(set(annotators)) < len(annotators):
        raise InputError("names an annotator twice")
    known = {"context", "fact", "annotators", "responses"}
    context = Context("", alternating(_turns(value, "context")), attributes=_rest(value, known))
    fact = fields.text(value, "fact")
    if fact is not None:
        context.attributes["fact"] = fact
    candidates = []
    for position, item in enumerate(fields.objects(value, "responses")):
        candidate = Candidate(position, _response(item, "response"), source=fields.text(item, "model"))
        scores: dict[str, list[float]] = {}
        for question, name in _QUESTIONS.items():
            if question in item:
                scores[name] = _answers(item, question, len(annotators))
        overall = scores.pop(_OVERALL, None)
        if overall:
            candidate.ratings = [Rating(*pair) for pair in zip(annotators, overall, strict=True)]
            candidate.relevance = sum(overall) / len(overall)
        else:
            report.note("responses without an overall score", place.shown)
        candidate.attributes = _rest(item, {"response", "model", *_QUESTIONS})
        if scores:
            candidate.attributes["scores"] = {
                name: dict(zip(annotators, answers, strict=True)) for name, answers in scores.items()
            }
        candidates.append(candidate)
    return RankingRecord(context, candidates)


def _answers(item: dict[str, Any], question: str, count: int) -> list[float]:
    values = item[question]
    if not isinstance(values, list) or len(values) != count:
        found = f"{len(values)} values" if isinstance(values, list) else fields.found(values)
        raise InputError(f"{question} holds {found}; expected a number of each of the {count} annotators")
    return [_number({question: value}, question) for value in values]


def _with_means(value: dict[str, Any], report: Report, place: Place) -> RankingRecord:
    """One response with the means of the answers."""
    known = {"source", "context", "system_output", "system_id", "scores"}
    context = Context("", alternating(_turns(value, "source")))
    fact = fields.text(value, "context")
    if fact is not None:
        context.attributes["fact"] = fact
    scores = value.get("scores")
    if not isinstance(scores, dict):
        raise InputError(f"scores holds {fields.found(scores)}; expected an object with a number for each question")
    means = {name: _number(scores, name) for name in fields.attributes({"attributes": scores})}
    overall = means.pop(_OVERALL, None)
    if overall is None:
        report.note("responses without an overall score", place.shown)
    attributes: dict[str, Any] = _rest(value, known)
    if means:
        attributes["scores"] = means
    candidate = Candidate(
        0,
        _response(value, "system_output"),
        overall,
        source=fields.text(value, "system_id"),
        attributes=attributes,
    )
    return RankingRecord(context, [candidate])


def _number(item: dict[str, Any], name: str) -> float:
    value = fields.number(item, name, None)
    if value is None:
        raise InputError(f"{name} holds null; expected a number")
    return value


def _turns(value: dict[str, Any], name: str) -> list[str]:
    """The turns of a context, a line each, without the white space around them."""
    lines = (fields.text(value, name, required=True) or "").split("\n")
    turns = [line.strip() for line in lines if line.strip()]
    if not turns:
        raise InputError(f"{name} is empty; expected the turns so far, a line each")
    return turns


def _response(item: dict[str, Any], name: str) -> str:
    """A response without the line break or space that ends it."""
    return (fields.text(item, name, required=True) or "").strip()


def _rest(item: dict[str, Any], known: set[str]) -> dict[str, Any]:
    return dict(fields.attributes({"attributes": {key: value for key, value in item.items() if key not in known}}))
