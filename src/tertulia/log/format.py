"""``log``: the log of conversations as a corpus. The user's and the agent's words are utterances, the rest annotations."""

from __future__ import annotations

from collections.abc import Iterator

from tertulia.corpus.exchange import NO_OPTIONS, Holds, ReadOptions, Report
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.errors import ConfigurationError
from tertulia.log.store import LogStore

__all__ = ["LogFormat"]

_RATER = "user"


class LogFormat:
    """Reads a log by its database URL.

    A reply's annotations: layer ``component`` (label: who answered; value: the confidence; attributes: topic, evidence, time), and
    ``rating.thumb`` and ``rating.grade`` where the user rated it. The dialogue's domain is the topic of its last turn.
    """

    name = "log"
    summary = "the log of a bot's conversations, by database URL or SQLite file"
    writes = False
    holds: Holds = "corpus"
    options = NO_OPTIONS
    licence = None
    citation = None

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """Every conversation with at least one turn."""
        with LogStore(source, must_exist=True) as store:
            for row in store.conversations():
                turns = store.turns(row["id"])
                if not turns:
                    report.skip("conversations without a turn", row["id"])
                    continue
                identifier = row["id"]
                dialogue = Dialogue(
                    identifier,
                    [],
                    domain=turns[-1].topic,
                    started_at=row["started_at"],
                    attributes={"bot": row["bot"], "bot_digest": row["bot_digest"], "channel": row["channel"]},
                )
                record = Record(dialogue)
                ratings = store.ratings(identifier)
                for turn in turns:
                    position = 2 * (turn.number - 1)
                    dialogue.utterances += [
                        Utterance(position, position, "user", turn.text, "user", turn.said_at),
                        Utterance(position + 1, position + 1, row["bot"], turn.reply, "agent", turn.said_at),
                    ]
                    record.annotations.append(
                        Annotation(
                            identifier,
                            "component",
                            row["bot"],
                            position + 1,
                            label=turn.component,
                            value=turn.confidence,
                            attributes={
                                "topic": turn.topic,
                                "evidence": turn.evidence,
                                "elapsed_ms": turn.elapsed_ms,
                            },
                        )
                    )
                    for kind, value in ratings.get(turn.number, {}).items():
                        if value is not None:
                            note = Annotation(identifier, f"rating.{kind}", _RATER, position + 1, value=float(value))
                            record.annotations.append(note)
                options.progress(sum(len(text.encode()) for text in dialogue.texts), None)
                yield record

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:  # noqa: ARG002
        """The log is written by talking, not by exporting."""
        raise ConfigurationError("the format 'log' is read, not written")
