"""``stackexchange``: a data dump of one site as a format that ``corpus import`` reads."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from tertulia.corpus.exchange import Holds, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Record
from tertulia.corpus.store import Corpus
from tertulia.errors import ConfigurationError
from tertulia.stackexchange.build import LICENCE, Silent, build_corpus
from tertulia.stackexchange.criteria import POSITIVE_THRESHOLD, criteria_named
from tertulia.stackexchange.options import BuildOptions

__all__ = ["StackExchangeFormat"]


class _Bytes(Silent):
    """The bytes read are the progress of an import; the stages after them are quick."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def reading(self, step: int, total: int | None) -> None:
        self._options.progress(step, total)


class StackExchangeFormat:
    """Reads a folder or archive of a Stack Exchange data dump."""

    name = "stackexchange"
    summary = "a data dump of Stack Exchange, its threads as dialogues (stackexchange build shows more)"
    writes = False
    holds: Holds = "corpus"
    options: Mapping[str, str] = {
        "criteria": "only these of the six, in this order; none for none",
        "text": "plain, markdown or html",
        "edited": "marker or history",
        "positive_threshold": "the least VADER score of a positive ending (0.3)",
        "site": "the host of the site, where the dump's name does not tell",
    }
    licence = LICENCE
    citation = (
        "Gustavo Penha, Alexandru Balan, Claudia Hauff (2019). Introducing MANtIS: a novel Multi-Domain Information Seeking "
        "Dialogues Dataset. arXiv:1912.04639."
    )

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The dialogues of one dump, which is built whole before the first of them comes."""
        dump = Path(source)
        with tempfile.TemporaryDirectory(prefix="tertulia-stackexchange-") as folder:
            built = build_corpus([dump], Path(folder) / "corpus", _options(dump, options), stages=_Bytes(options))
            report.skipped.update(built.report.skipped)
            report.noted.update(built.report.noted)
            seen = SeenTexts()
            with Corpus(built.corpus) as corpus:
                for record in corpus.records():
                    if not report.is_duplicate(record.dialogue.texts, seen, options, record.dialogue.id):
                        yield record

    def write(self, records: Iterator[Record], path: str, report: Report) -> NoReturn:  # noqa: ARG002
        """Dumps are Stack Exchange's to write."""
        raise ConfigurationError("the format 'stackexchange' is read, not written")


def _options(dump: Path, options: ReadOptions) -> BuildOptions:
    values = options.values
    chosen: dict[str, Any] = {name: values[name] for name in ("text", "edited") if name in values}
    if "criteria" in values:
        chosen["criteria"] = criteria_named([name.strip() for name in values["criteria"].split(",")])
    if "site" in values:
        chosen["sites"] = {dump.resolve().name: values["site"]}
    return BuildOptions(
        positive_threshold=_threshold(values.get("positive_threshold")), skip_bad=options.skip_bad, **chosen
    )


def _threshold(text: str | None) -> float:
    if text is None:
        return POSITIVE_THRESHOLD
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(f"the option positive_threshold is {text!r}; expected a score from -1 to 1") from None
