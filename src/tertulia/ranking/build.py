"""A ranking set made of a corpus: its contexts, each with its true response and negatives that are hard to tell from it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tertulia.artefact import Draft, Manifest, create, digest_of_path
from tertulia.corpus.collection import describe_tables
from tertulia.corpus.exchange import Report
from tertulia.corpus.model import Context, Dialogue
from tertulia.corpus.ranking_set import RANKING_SET, RankingSet
from tertulia.corpus.ranking_tables import RANKING_RECORDS
from tertulia.corpus.store import Corpus
from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tertulia.ranking.contexts import UnfitDialogueError, contexts_of, said_in
from tertulia.ranking.negatives import seed_of
from tertulia.ranking.pool import draws_of_pool
from tertulia.ranking.responses import Gathered, Responses
from tertulia.ranking.spool import Spool
from tertulia.ranking.writing import ColumnWriter, Entry, EntryWriter, RecordWriter
from tertulia.retrieval.bm25 import Bags
from tertulia.retrieval.tokenizer import tokenizer_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.documents import Documents

__all__ = ["RankingOptions", "Stage", "build_ranking_set"]

From = Literal["same-domain", "all"]
Target = Literal["responses", "documents"]
Stage = Callable[[str, str], AbstractContextManager[Callable[[int, int | None], None]]]
"""Told the name of a stage and its unit, gives what is told how much has been done since the last call, and the total."""
_MOST_NEGATIVES = 10_000
_CITATION = (
    "Penha, G., Balan, A., Hauff, C. (2019). Introducing MANtIS: a novel Multi-Domain Information Seeking Dialogues Dataset. "
    "arXiv:1912.04639"
)


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """What a ranking set is to be.

    ``negatives`` for each context are drawn from the ``pool`` best responses by BM25, of the same domain or of all
    (``drawn_from``), always of the same split. ``last`` cuts contexts to that many turns; ``splits`` takes these only.
    """

    negatives: int = 10
    drawn_from: From = "same-domain"
    target: Target = "responses"
    pool: int = 1_000
    seed: int = 0
    last: int | None = None
    language: str = "en"
    splits: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse numbers that make no set.

        Raises
        ------
        ConfigurationError
            Naming the option, what it is and what was expected.
        """
        if not 0 <= self.negatives <= _MOST_NEGATIVES:
            raise ConfigurationError(f"{self.negatives} negatives are asked for; expected 0 to {_MOST_NEGATIVES:,}")
        if self.pool < max(1, self.negatives):
            raise ConfigurationError(
                f"the pool has {self.pool} responses; expected at least the {self.negatives} negatives drawn from it"
            )
        if self.last is not None and self.last < 1:
            raise ConfigurationError(f"contexts of the last {self.last} turns are asked for; expected at least 1")

    def to_json(self) -> dict[str, Any]:
        """The options as the manifest keeps them."""
        return {
            "negatives": self.negatives,
            "from": self.drawn_from,
            "target": self.target,
            "pool": self.pool,
            "last": self.last,
            "language": self.language,
            "splits": list(self.splits),
        }


def build_ranking_set(
    path: Path,
    output: Path,
    options: RankingOptions,
    report: Report,
    *,
    documents: Documents | None = None,
    documents_path: Path | None = None,
    workers: int = 1,
    overwrite: bool = False,
    stage: Stage = lambda _name, _unit: nullcontext(lambda _n, _total: None),
) -> RankingSet:
    """Make a ranking set of the corpus at ``path`` and write it at ``output``; ``report`` is filled.

    The corpus is read twice; memory holds an index of its responses, not the corpus. The set does not depend on ``workers``.

    Raises
    ------
    ConfigurationError
        The options do not hold, or documents are the target and none are given.
    InputError
        The corpus has no context, or none of these splits.
    ArtefactError
        The corpus is damaged, or ``output`` cannot be written.
    """
    options.check()
    if options.target == "documents" and documents is None:
        raise ConfigurationError("documents are the target, and no crawl is named", hint="--documents CRAWL")
    if documents is not None and options.target != "documents":
        raise ConfigurationError("a crawl is named, and responses are the target", hint="--target documents")
    tokenizer = tokenizer_for(options.language)
    with Corpus(path, check_digests=True) as corpus:
        if output.exists() and output.resolve() == path.resolve():
            raise ArtefactError("is the corpus; expected another path for the ranking set", where=output)
        manifest = Manifest(
            RANKING_SET,
            command=["tertulia", "ranking", "build", path.resolve().name],
            options={**options.to_json(), "tokenizer": tokenizer.name},
            seed=options.seed,
            inputs=[digest_of_path(each) for each in (path, documents_path) if each is not None],
            licence=corpus.manifest.licence,
            citation="; ".join(each for each in (corpus.manifest.citation, _CITATION) if each),
        )
        if options.target == "documents":
            manifest.licence = None  # pages have licences of their own, which nobody knows
        build = _Build(corpus, options, Bags(tokenizer), report, documents, workers, stage)
        with create(output, manifest, overwrite=overwrite) as draft:
            build.write(draft)
    return RankingSet(output)


class _Build:
    """One build: what its passes share."""

    def __init__(
        self,
        corpus: Corpus,
        options: RankingOptions,
        bags: Bags,
        report: Report,
        documents: Documents | None,
        workers: int,
        stage: Stage,
    ) -> None:
        self._corpus = corpus
        self._options = options
        self._bags = bags
        self._report = report
        self._documents = documents
        self._workers = workers
        self._stage = stage

    def write(self, draft: Draft) -> None:
        """Leave the tables in the draft's directory, and tell its manifest what was found."""
        with tempfile.TemporaryDirectory(prefix=".texts.", dir=draft.directory) as name:
            directory = Path(name)
            responses = Responses(
                directory,
                self._bags,
                self._report,
                same_domain=self._options.drawn_from == "same-domain",
                documents=self._documents,
            )
            try:
                with self._stage("reading", "dialogues") as advance:
                    for dialogue in self._dialogues():
                        responses.add(dialogue)
                        advance(1, len(self._corpus))
                if not responses.contexts:
                    raise self._nothing()
                gathered = Gathered(responses)
                negatives = self._drawn(gathered, directory)
                draft.manifest.details["pools"] = _pools(gathered)
                draft.manifest.counts = self._written(gathered, negatives, draft.directory)
                draft.manifest.report = self._report.to_json()
            finally:
                responses.close()
        describe_tables(draft.directory, RANKING_RECORDS, draft.manifest)

    def _dialogues(self) -> Iterator[Dialogue]:
        wanted = set(self._options.splits)
        return (dialogue for dialogue in self._corpus.dialogues() if not wanted or (dialogue.split or "none") in wanted)

    def _nothing(self) -> InputError:
        reasons = [f"{found.count:,} {reason}" for reason, found in self._report.skipped.items()]
        reasons += [f"{found.count:,} {reason}" for reason, found in self._report.noted.items()]
        if self._options.splits and not reasons:
            return InputError(
                f"has no dialogue of the split {', '.join(self._options.splits)}", where=self._corpus.path
            )
        return InputError(
            "has no context: two utterances of each side, the last of them an answer",
            where=self._corpus.path,
            hint="; ".join(reasons) or "it has no dialogues",
        )

    def _drawn(self, gathered: Gathered, directory: Path) -> NDArray[np.int64]:
        """The negatives of each context: array of the shape (contexts, negatives), -1 where there is none; in a file."""
        options, responses = self._options, gathered.responses
        shape = (responses.contexts, max(1, options.negatives))
        negatives = np.memmap(directory / "negatives", dtype=np.int64, mode="w+", shape=shape)
        negatives[:] = -1
        if not options.negatives:
            return negatives

        def seed(response: int) -> int:
            dialogue, _, position = responses.sources[response].rpartition("#")
            return seed_of(options.seed, f"{dialogue}-{position}")

        with self._stage("searching", "contexts") as advance:
            for members in gathered.in_pools():
                drawn = draws_of_pool(
                    gathered,
                    members,
                    seed,
                    negatives=options.negatives,
                    pool=options.pool,
                    pages=self._documents is not None,
                    workers=self._workers,
                    progress=lambda count: advance(count, responses.contexts),
                )
                for context, chosen in drawn:
                    negatives[context, : len(chosen)] = chosen
        return negatives

    def _written(self, gathered: Gathered, negatives: NDArray[np.int64], directory: Path) -> dict[str, int]:
        """Write the tables; the contexts and candidates in them."""
        responses = gathered.responses
        pages = self._documents is not None
        texts, sources = (responses.pages, responses.addresses) if pages else (responses.texts, responses.sources)
        kind: Callable[[Path, Spool, Spool], EntryWriter] = ColumnWriter if responses.in_order else RecordWriter
        writer = kind(directory, texts, sources)
        answered = np.flatnonzero(gathered.context >= 0)
        try:
            with self._stage("writing", "contexts") as advance:
                for entry in self._entries(gathered, negatives, answered):
                    missing = self._options.negatives - (len(entry.numbers) - entry.true)
                    if missing:
                        self._report.note("contexts with fewer negatives than asked for", entry.context.id)
                        self._report.note("negatives that there were not", entry.context.id, missing)
                    writer.add(entry)
                    advance(1, len(answered))
                writer.close()
        finally:
            writer.abandon()
        return dict(writer.counts)

    def _entries(
        self, gathered: Gathered, negatives: NDArray[np.int64], answered: NDArray[np.int64]
    ) -> Iterator[Entry]:
        """The contexts with their candidates, dialogue by dialogue."""
        number = 0
        for dialogue in self._dialogues():
            try:
                said = said_in(dialogue)
            except UnfitDialogueError:
                continue
            entries = []
            for position, turns, _ in contexts_of(said, last=self._options.last):
                own = int(answered[number]) if number < len(answered) else -1
                if own < 0 or gathered.responses.sources[own] != f"{dialogue.id}#{position}":
                    continue  # left out when it was gathered: it has no crawled page
                context = Context(f"{dialogue.id}-{position}", turns, dialogue.id, dialogue.domain, dialogue.split)
                chosen = negatives[number]
                true = [own] if self._documents is None else _distinct(gathered, gathered.pages_of(own))
                entries.append(Entry(context, [*true, *chosen[chosen >= 0].tolist()], len(true)))
                number += 1
            # In order of id as text, where position 11 comes before 3.
            entries.sort(key=lambda entry: entry.context.id)
            yield from entries


def _distinct(gathered: Gathered, pages: Sequence[int]) -> list[int]:
    """The first page of each text."""
    found: dict[int, int] = {}
    for page in pages:
        found.setdefault(int(gathered.page_digest[page]), page)
    return list(found.values())


def _pools(gathered: Gathered) -> list[dict[str, Any]]:
    """Of each pool its split and domain, the distinct responses in it and the contexts that draw from it."""
    found = []
    members = gathered.in_pools()
    for (split, domain), number in gathered.responses.pools.items():
        representatives = np.unique(gathered.representative[members[number]])
        found.append(
            {
                "split": split,
                "domain": domain,
                "responses": int((representatives >= 0).sum()),
                "contexts": int((gathered.context[members[number]] >= 0).sum()),
            }
        )
    return sorted(found, key=lambda pool: (pool["split"] or "", pool["domain"] or ""))
