"""What a corpus's publication states, held against a recount.

The stated figures are data: ``publications/<name>.toml``. A figure names a measure of ``recount.py``, a scope and the stated
number, with the decimals that it is rounded to; a figure without a number is only counted.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from itertools import islice
from typing import Any

from tertulia.corpus.model import RankingRecord, Record
from tertulia.corpus.ranking_set import RankingSet
from tertulia.corpus.store import Corpus
from tertulia.errors import ConfigurationError
from tertulia.formats.verification.rater_agreement import RaterAgreement
from tertulia.formats.verification.recount import CORPUS_MEASURES, RANKING_MEASURES, Counting, Scope, counter_of

__all__ = ["Figure", "Publication", "publication_names", "read_publication", "verify_corpus"]

# A corpus with less than this share of what its publication states is a part of it: another release loses a few.
_WHOLE = 0.95
# So many dialogues tell a corpus's script.
_SAMPLE = 50
_SCOPE_TEXTS = ("domain", "layer", "label")
_SCOPE_NUMBERS = ("low", "high", "below")


@dataclass(frozen=True, slots=True)
class Figure:
    """One stated number: of what, which measure in which scope, and how it stands in print.

    ``unit`` is ``count``, ``share`` (printed as a percentage) or ``number``; ``digits`` are the decimals that ``stated`` is
    rounded to; ``at_least`` marks an "over 80,000"; ``tolerance`` is for what is read off a drawing. ``printed`` is the number as
    it stands in print where that is not the plain number, ``misprint`` as it stands wrongly; ``size`` marks the figure that
    tells a part of the corpus from the whole.
    """

    what: str
    measure: str
    scope: Scope = field(default_factory=Scope)
    stated: float | None = None
    unit: str = "count"
    digits: int = 0
    at_least: bool = False
    tolerance: float = 0.0
    printed: str | None = None
    misprint: str | None = None
    size: bool = False

    def is_met(self, found: float | None) -> bool | None:
        """Whether a recount agrees, as exactly as the number is printed; ``None`` where there is nothing to compare."""
        if found is None or self.stated is None:
            return None
        if self.at_least:
            return found >= self.stated
        if self.tolerance:
            return abs(found - self.stated) <= self.tolerance + 1e-12
        return abs(found - self.stated) <= 0.5 * 10**-self.digits + 1e-12 if self.digits else found == self.stated


@dataclass(frozen=True, slots=True)
class Publication:
    """What one publication states of its corpus, and what is known to be wrong in it."""

    name: str
    title: str
    kind: str
    formats: tuple[str, ...]
    script: str | None
    figures: tuple[Figure, ...]
    totals: tuple[Mapping[str, Any], ...]
    contradictions: tuple[str, ...]
    notes: tuple[str, ...]
    scale: tuple[float, ...]
    gap: float


def publication_names() -> list[str]:
    """The names of the publications whose figures are known, in alphabetical order."""
    folder = resources.files("tertulia.formats.verification") / "publications"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def read_publication(name: str) -> Publication:
    """What the publication of this name states.

    Raises
    ------
    ConfigurationError
        There is none of that name.
    """
    if name not in publication_names():
        raise ConfigurationError(
            f"no publication {name!r} is known", hint=f"known are: {', '.join(publication_names())}"
        )
    file = resources.files("tertulia.formats.verification") / "publications" / f"{name}.toml"
    stated = tomllib.loads(file.read_text(encoding="utf-8"))
    applies, raters = stated.get("applies", {}), stated.get("raters", {})
    return Publication(
        name=name,
        title=stated["publication"],
        kind=stated.get("kind", "corpus"),
        formats=tuple(applies.get("formats", ())),
        script=applies.get("script"),
        figures=tuple(_figure(item) for item in stated["figure"]),
        totals=tuple(stated.get("total", ())),
        contradictions=tuple(item["text"] for item in stated.get("contradiction", ())),
        notes=tuple(item["text"] for item in stated.get("note", ())),
        scale=tuple(raters.get("scale", ())),
        gap=raters.get("gap", 0),
    )


def _figure(item: dict[str, Any]) -> Figure:
    values = dict(item)
    restricted = {name: values.pop(name) for name in (*_SCOPE_TEXTS, *_SCOPE_NUMBERS) if name in values}
    splits, attributes = tuple(values.pop("splits", ())), tuple(sorted(values.pop("attributes", {}).items()))
    return Figure(scope=Scope(splits=splits, attributes=attributes, **restricted), **values)


def verify_corpus(
    corpus: Corpus | RankingSet,
    progress: Callable[[int, int | None], None] | None = None,
    publication: str | None = None,
) -> dict[str, Any]:
    """Recount what a publication states of a corpus or ranking set, in one streaming pass.

    Parameters
    ----------
    publication:
        Its name; by default the one that the manifest names (``details.publication``), or that its format belongs to.

    Returns
    -------
    ``{"name", "publication", "figures", "topics", "topics_met", "misprints", "contradictions", "notes", "partial",
    "agreement"}``. A figure is ``{"what", "measure", "published", "printed", "found", "difference", "met", "unit",
    "digits"}``, with the difference as found minus published. ``topics`` counts the rows of a stated table of domains,
    ``topics_met`` those of them whose conversations and turns are both met exactly. ``partial`` is ``{"what", "found",
    "published"}`` where the corpus is only a part of the published one. ``agreement`` is that of two raters, before and after
    the publication's filter. Where no publication is known the lists are empty.

    Raises
    ------
    ConfigurationError
        No publication of that name is known, or it is of the other kind of artefact.
    """
    stated = _choose(corpus, publication)
    if stated is None:
        return _result(None, [], [], None, None)
    if stated.kind != corpus.kind:
        raise ConfigurationError(
            f"the publication {stated.name!r} is of a {stated.kind}, but this is a {corpus.kind}", where=corpus.path
        )
    recount = _Recount(stated)
    total = len(corpus)
    records: Iterator[Any] = iter(corpus.records())
    for record in records:
        recount.add(record)
        if progress is not None:
            progress(1, total)
    found = recount.results()
    figures = [_compared(figure, value) for figure, value in zip(stated.figures, found, strict=True)]
    raters = recount.raters.to_json() if recount.raters is not None else None
    return _result(stated, figures, recount.remarks(), _partial(stated, found), raters)


def _result(
    stated: Publication | None,
    figures: list[dict[str, Any]],
    remarks: list[str],
    partial: dict[str, Any] | None,
    agreement: dict[str, Any] | None,
) -> dict[str, Any]:
    topics: set[str] = set()
    missed: set[str] = set()
    for figure, compared in zip(stated.figures if stated else (), figures, strict=True):
        domain = figure.scope.domain
        if domain is not None:
            topics.add(domain)
            if figure.measure in {"conversations", "turns"} and compared["difference"]:
                missed.add(domain)
    return {
        "name": stated.name if stated else None,
        "publication": stated.title if stated else None,
        "figures": figures,
        "topics": len(topics),
        "topics_met": len(topics - missed),
        "misprints": _misprints(stated) if stated else [],
        "contradictions": [*_sums(stated), *stated.contradictions] if stated else [],
        "notes": [*remarks, *stated.notes] if stated else [],
        "partial": partial,
        "agreement": agreement,
    }


def _choose(corpus: Corpus | RankingSet, name: str | None) -> Publication | None:
    """The publication that is asked for, named by the manifest, or the format's own."""
    details = corpus.manifest.details
    if name is None and "publication" in details:
        name = str(details["publication"])
    if name is not None:
        return read_publication(name)
    fitting = [p for p in map(read_publication, publication_names()) if details.get("format") in p.formats]
    if len(fitting) < 2:
        return fitting[0] if fitting else None
    script = _script(corpus)
    return next((p for p in fitting if p.script == script), fitting[0])


def _script(corpus: Corpus | RankingSet) -> str:
    """``han`` where the first dialogues hold a Chinese character or no text at all, else ``latin``."""
    records: Iterator[Any] = islice(corpus.records(), _SAMPLE)
    texts = [text for record in records for text in _texts(record)]
    if not any(texts) or any("\u4e00" <= character <= "\u9fff" for text in texts for character in text):
        return "han"
    return "latin"


def _texts(record: Record | RankingRecord) -> list[str]:
    return record.dialogue.texts if isinstance(record, Record) else record.context.texts


class _Recount:
    """The counters of a publication's figures, each fed with the records of its scope."""

    def __init__(self, stated: Publication) -> None:
        self._stated = stated
        measures = CORPUS_MEASURES if stated.kind == "corpus" else RANKING_MEASURES
        self.raters = RaterAgreement(stated.scale, stated.gap) if stated.scale else None
        rater_measures = RaterAgreement.MEASURES if stated.scale else ()
        self._counters: list[Counting | None] = [
            None if figure.measure in rater_measures else counter_of(figure.measure, figure.scope, measures)
            for figure in stated.figures
        ]
        # Most figures of a large table are about one domain each: a record meets only its own and those about all.
        self._everywhere: list[tuple[Scope, Counting]] = []
        self._by_domain: dict[str, list[tuple[Scope, Counting]]] = {}
        for figure, counter in zip(stated.figures, self._counters, strict=True):
            if counter is not None:
                domain = figure.scope.domain
                group = self._everywhere if domain is None else self._by_domain.setdefault(domain, [])
                group.append((figure.scope, counter))
        self._splits: set[str] = set()
        self._layers: set[str] = set()
        self._rated = False

    def add(self, record: Record | RankingRecord) -> None:
        # What a figure of one layer sees of a record: only the annotations of that layer, put together once. All figures of a
        # set see what its publication's filter keeps.
        views: dict[str | None, Any] = {None: record}
        if isinstance(record, Record):
            about: Any = record.dialogue
            for note in record.annotations:
                if note.layer not in views:
                    views[note.layer] = Record(record.dialogue)
                views[note.layer].annotations.append(note)
            self._layers.update(layer for layer in views if layer is not None)
        else:
            about = record.context
            self._rated = self._rated or any(candidate.relevance is not None for candidate in record.candidates)
            if self.raters is not None:
                kept = self.raters.add(record)
                if kept is None:
                    return
                views[None] = kept
        if about.split is not None:
            self._splits.add(about.split)
        for scope, counter in (*self._everywhere, *self._by_domain.get(about.domain or "", ())):
            if scope.layer in views and (not scope.splits or about.split in scope.splits):
                counter.add(views[scope.layer])

    def results(self) -> list[float | None]:
        """The recount of each figure; ``None`` where the corpus has nothing that it could be counted of."""
        raters = self.raters.figures() if self.raters is not None else {}
        return [
            raters.get(figure.measure) if counter is None else None if self._lacks(figure.scope) else counter.result()
            for figure, counter in zip(self._stated.figures, self._counters, strict=True)
        ]

    def _lacks(self, scope: Scope) -> bool:
        return bool(scope.splits and not self._splits) or bool(scope.layer and scope.layer not in self._layers)

    def remarks(self) -> list[str]:
        """Why some figures could not be recounted."""
        scopes = [figure.scope for figure in self._stated.figures]
        lines = []
        if not self._splits and any(scope.splits for scope in scopes):
            lines.append("this corpus has no splits, so the figures of splits are not recounted")
        lines += [
            f"this corpus has no annotations in the layer “{layer}”, so the figures about them are not recounted"
            for layer in dict.fromkeys(scope.layer for scope in scopes if scope.layer)
            if layer not in self._layers
        ]
        if self.raters is not None:
            lines.append(self._remark_on_raters(self.raters))
        return lines

    def _remark_on_raters(self, raters: RaterAgreement) -> str:
        apart = f"rated {self._stated.gap:g} or more apart"
        if raters.dropped:
            return (
                f"the {raters.dropped:,} pairs {apart} are in no figure but those of the filter, which the publication applied "
                "before it counted"
            )
        if raters.pairs:
            return f"no pair is {apart}: the filter was applied before, so what was there before it is not recounted"
        rated = "mean ratings only" if self._rated else "no ratings"
        return f"this corpus holds {rated}, so the two raters' agreement and the dropped pairs are not recounted"


def _compared(figure: Figure, found: float | None) -> dict[str, Any]:
    comparable = found is not None and figure.stated is not None
    return {
        "what": figure.what,
        "measure": figure.measure,
        "published": figure.stated,
        "printed": figure.misprint or figure.printed,
        "found": found,
        "difference": (found or 0) - (figure.stated or 0) if comparable else None,
        "met": figure.is_met(found),
        "unit": figure.unit,
        "digits": figure.digits,
    }


def _partial(stated: Publication, found: list[float | None]) -> dict[str, Any] | None:
    for figure, value in zip(stated.figures, found, strict=True):
        if figure.size and figure.stated and value is not None and value < _WHOLE * figure.stated:
            return {"what": figure.measure, "found": value, "published": figure.stated}
    return None


def _misprints(stated: Publication) -> list[str]:
    return [
        f"the {figure.measure} of {figure.what} are printed as “{figure.misprint}”, read here as {figure.stated:,}"
        for figure in stated.figures
        if figure.misprint is not None
    ]


def _sums(stated: Publication) -> list[str]:
    """Stated totals that their parts do not sum to: the rows of a table of domains, or the parts that stand beside it."""
    lines = []
    for total in stated.totals:
        measure, parts = total["measure"], total.get("parts")
        if parts is None:
            parts = [
                f.stated for f in stated.figures if f.measure == measure and f.scope.domain and f.stated is not None
            ]
            source = f"the {len(parts)} rows of its own table sum to {sum(parts):,}"
        else:
            source = f"{' + '.join(f'{part:,}' for part in parts)} in the same text make {sum(parts):,}"
        if sum(parts) != total["stated"]:
            lines.append(f"it states {total['stated']:,} {measure} in all, but {source}")
    return lines
