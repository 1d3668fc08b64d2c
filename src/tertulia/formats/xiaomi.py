"""``xiaomi``: queries to a voice assistant with replies that its users liked or disliked, a query a line.

A line is ``{"query": …, "replys": [{"reply": …, "like": …, "dislike": …}]}``. Published for the shared task 9 of NLPCC 2023.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tertulia.corpus.exchange import NO_OPTIONS, Holds, Place, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Candidate, Context, RankingRecord, Turn
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.files import fields
from tertulia.formats.files.context_ids import ContextIds, split_of
from tertulia.formats.files.json_reading import json_lines
from tertulia.formats.files.sources import source_files

__all__ = ["XiaomiFormat"]


class XiaomiFormat:
    """Reads queries with liked and disliked replies."""

    name = "xiaomi"
    summary = "JSON lines of queries with liked and disliked replies (NLPCC 2023, task 9)"
    writes = False
    holds: Holds = "ranking-set"
    options = NO_OPTIONS
    licence = "CC-BY-4.0"
    citation = "NLPCC 2023 Shared Task 9: User Feedback Prediction and Response Generation. XiaoMi AI Lab"

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[RankingRecord]:
        """The queries of a file, or of all ``*.jsonl`` files of a folder or zip archive; a file's name tells the split."""
        ids, texts, queries = ContextIds(), SeenTexts(), SeenTexts()
        for file in source_files(source, "*.jsonl", expected="queries with replies, one a line", options=options):
            split = split_of(file.name)
            for place, value in json_lines([file], report, options):
                record = None
                with report.catching(options, place):
                    record = _record(value, report, place)
                if record is None:
                    continue
                record.context.split = split
                record.context.id = ids.next(split)
                if queries.again(record.context.texts):
                    report.note("queries that stood before; each line is a context of its own", place.shown)
                found = [*record.context.texts, *(candidate.text for candidate in record.candidates)]
                if not report.is_duplicate(found, texts, options, place.shown):
                    yield record

    def write(self, records: Iterator[RankingRecord], path: str, report: Report) -> None:  # noqa: ARG002 - it refuses
        """This format is only read."""
        raise ConfigurationError("the format 'xiaomi' is read, not written")


def _record(value: dict[str, Any], report: Report, place: Place) -> RankingRecord:
    query = fields.text(value, "query", required=True) or ""
    replies = fields.objects(value, "replys", of="objects with reply, like and dislike")
    if not replies:
        report.note("queries without a reply", place.shown)
    others = {name: item for name, item in value.items() if name not in ("query", "replys")}
    context = Context("", [Turn("user", query)], attributes=_kept(others))
    return RankingRecord(context, [_candidate(item, position) for position, item in enumerate(replies)])


def _candidate(item: dict[str, Any], position: int) -> Candidate:
    try:
        text = fields.text(item, "reply", required=True) or ""
        likes = _count(item, "like")
        dislikes = _count(item, "dislike")
        others = _kept({name: value for name, value in item.items() if name not in ("reply", "like", "dislike")})
    except InputError as error:
        raise InputError(f"reply {position}: {error.message}") from None
    # The share of likes with one more of each, so that few votes say little (Laplace's rule of succession).
    relevance = (likes + 1) / (likes + dislikes + 2)
    return Candidate(position, text, relevance, attributes={**others, "likes": likes, "dislikes": dislikes})


def _count(item: dict[str, Any], name: str) -> int:
    count = fields.whole_number(item, name, None)
    if count is None:
        raise InputError(f"has no {name}; expected how often the reply got one")
    return count


def _kept(others: dict[str, Any]) -> dict[str, Any]:
    return fields.attributes({"attributes": others}) if others else {}
