"""``stackexchange build``: dumps in, a corpus and its funnel out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tertulia.artefact import Manifest, create, work_directory
from tertulia.corpus.collection import describe_tables
from tertulia.corpus.exchange import Report
from tertulia.corpus.store import KIND
from tertulia.corpus.tables import RECORDS
from tertulia.errors import ConfigurationError
from tertulia.stackexchange.cache import default_cache
from tertulia.stackexchange.criteria import POSITIVE_ENDING
from tertulia.stackexchange.dumps import Site, find_sites
from tertulia.stackexchange.engines import open_engine
from tertulia.stackexchange.finish.dialogue import SiteNames
from tertulia.stackexchange.finish.finish import Finished, finish
from tertulia.stackexchange.finish.funnel import funnel_of
from tertulia.stackexchange.finish.html_text import html_text
from tertulia.stackexchange.finish.sentiment import compound_scorer
from tertulia.stackexchange.narrow import Narrowed, narrow
from tertulia.stackexchange.options import BuildOptions
from tertulia.stackexchange.parse import Parsed, parse_dumps

__all__ = ["BuildResult", "Silent", "Stages", "build_corpus"]

_TABLES = ("posts", "comments", "users", "votes")
LICENCE = "CC BY-SA (the version of each utterance, and whom to credit, are in its attributes licence, author and url)"


class Stages(Protocol):
    """Is told how a build gets on."""

    def reading(self, step: int, total: int | None) -> None:
        """So many bytes of XML were read since the last call, of so many."""
        ...

    def narrowing(self, what: str) -> None:
        """A step of the narrowing begins."""
        ...

    def finishing(self, step: int, total: int | None) -> None:
        """So many threads were finished since the last call, of so many."""
        ...


class Silent:
    """Stages of which nobody wants to hear."""

    def reading(self, step: int, total: int | None) -> None:
        """Say nothing."""

    def narrowing(self, what: str) -> None:
        """Say nothing."""

    def finishing(self, step: int, total: int | None) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class BuildResult:
    """The corpus that was written, its funnel (see ``finish.funnel``), and what was left out or is worth knowing."""

    corpus: Path
    counts: dict[str, Any]
    funnel: list[dict[str, Any]]
    report: Report


def build_corpus(
    dumps: Sequence[Path],
    output: Path,
    options: BuildOptions | None = None,
    *,
    overwrite: bool = False,
    stages: Stages | None = None,
) -> BuildResult:
    """Build the corpus of the dialogues in dumps, at ``output``, whole or not at all.

    The same dumps and options give the same bytes, with every engine and any number of workers. What was parsed is kept in the
    cache, so that a build that was interrupted, or the next with other criteria, goes on from there. More than one worker means
    processes, which start anew: a script that calls this must do so under ``if __name__ == "__main__"``.

    Raises
    ------
    InputError
        A dump is not there or not whole, naming file and line.
    ConfigurationError
        An option does not hold.
    ArtefactError
        ``output`` cannot be written.
    MissingExtraError
        A package is not installed.
    StoreError
        The cache or the engine failed.
    """
    options = options or BuildOptions()
    stages = stages or Silent()
    workers = options.workers or os.cpu_count() or 1
    _expect_packages(options)
    tables = (*_TABLES, "history") if options.edited == "history" else _TABLES
    _expect_domains(find_sites(dumps, options.sites, tables), options)
    cache = options.cache or default_cache()
    if cache.resolve().is_relative_to(Path(output).resolve()):
        raise ConfigurationError(
            "lies inside the output, which is replaced as a whole", where=cache, hint="--cache names another folder"
        )
    manifest = Manifest(KIND, options=options.shown(), licence=LICENCE)
    with create(output, manifest, overwrite=overwrite) as draft:
        parsed = parse_dumps(
            dumps,
            cache,
            names=options.sites,
            tables=tables,
            skip_bad=options.skip_bad,
            workers=workers,
            progress=stages.reading,
        )
        try:
            with work_directory(cache / "build") as work:
                narrowed = _narrow(parsed, work, options, workers, stages)
                finished = finish(
                    [SiteNames(site.domain, site.host) for site in parsed.sites],
                    narrowed.threads,
                    options,
                    draft.directory,
                    work,
                    workers=workers,
                    progress=stages.finishing,
                )
        except BaseException:
            parsed.close()
            raise
        _note_missing_history(parsed, options)
        funnel = funnel_of(narrowed, finished.positives, options.criteria)
        _describe(manifest, parsed, finished, funnel)
        describe_tables(draft.directory, RECORDS, manifest)
        if options.keep:
            parsed.close()
        else:
            parsed.remove()
    return BuildResult(Path(output), manifest.counts, funnel, parsed.report)


def _narrow(parsed: Parsed, work: Path, options: BuildOptions, workers: int, stages: Stages) -> Narrowed:
    engine_work = work / "engine"
    try:
        with open_engine(options.engine, work=engine_work, workers=workers, master=options.master) as engine:
            return narrow(
                parsed.tables,
                work,
                criteria=options.criteria,
                edited=options.edited,
                engine=engine,
                sites=parsed.sites,
                progress=stages.narrowing,
            )
    finally:
        shutil.rmtree(engine_work, ignore_errors=True)


def _note_missing_history(parsed: Parsed, options: BuildOptions) -> None:
    if options.edited != "history" or "not-edited" not in options.criteria:
        return
    for site in parsed.sites:
        if "history" not in site.tables:
            parsed.report.note("sites judged by the last edit of a post, for want of its history", site.name)


def _describe(manifest: Manifest, parsed: Parsed, finished: Finished, funnel: list[dict[str, Any]]) -> None:
    """What the manifest says of the corpus."""
    labels = sorted({site.label for site in parsed.sites})
    manifest.command = ["tertulia", "stackexchange", "build", *labels]
    manifest.inputs = parsed.inputs
    manifest.report = parsed.report.to_json()
    manifest.counts = finished.counts
    manifest.details["funnel"] = funnel
    manifest.details["sites"] = {site.domain: site.host for site in parsed.sites}


def _expect_packages(options: BuildOptions) -> None:
    """Miss a package, a Java or a master before the hours of reading, not after."""
    open_engine(options.engine, work=Path(), workers=1, master=options.master).expect()
    html_text("")
    if POSITIVE_ENDING in options.criteria:
        compound_scorer()


def _expect_domains(sites: Sequence[Site], options: BuildOptions) -> None:
    domains = [site.domain for site in sites]
    for domain in options.thresholds:
        if domain not in domains:
            raise ConfigurationError(
                f"a positive threshold is given for {domain!r}, and no dump is of that domain; there are: {', '.join(domains)}"
            )
