"""From corpora on disk to a bot, and to a larger or smaller bank of an existing one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from tertulia.artefact import Manifest, digest_of_path, read_manifest
from tertulia.bot.build import BotOptions, build_bot
from tertulia.bot.config import load_config
from tertulia.bot.reranking import OpenReranker, no_rerankers
from tertulia.corpus.model import Dialogue
from tertulia.corpus.store import Corpus
from tertulia.errors import ConfigurationError
from tertulia.retrieval.matching import MatchingIndex

__all__ = ["add_to_bank", "build_from_corpora", "remove_from_bank"]

_Progress = Callable[[int, int | None], None]


def build_from_corpora(
    corpora: Sequence[Path],
    output: Path,
    options: BotOptions,
    *,
    rules: Path | None = None,
    backup: Path | None = None,
    rerank: Path | None = None,
    open_reranker: OpenReranker = no_rerankers,
    overwrite: bool = False,
    progress: _Progress | None = None,
) -> Manifest:
    """Build a bot from corpora; raises as :func:`tertulia.bot.build.build_bot` and :class:`tertulia.corpus.store.Corpus` do."""
    with ExitStack() as stack:
        opened = [stack.enter_context(Corpus(path, check_digests=True)) for path in corpora]
        licences = sorted({corpus.manifest.licence for corpus in opened if corpus.manifest.licence})
        citations = sorted({corpus.manifest.citation for corpus in opened if corpus.manifest.citation})
        return build_bot(
            _dialogues(opened, progress),
            output,
            options,
            rules=rules,
            backup=backup,
            rerank=rerank,
            open_reranker=open_reranker,
            inputs=[digest_of_path(path) for path in corpora],
            command=["tertulia", "bot", "build", *(path.name for path in corpora)],
            licence="; ".join(licences) or None,
            citation="\n".join(citations) or None,
            overwrite=overwrite,
        )


def add_to_bank(bot: Path, corpora: Sequence[Path], *, progress: _Progress | None = None) -> dict[str, int]:
    """Add the dialogues of corpora, all or none: ``{"added", "dialogues", "utterances"}``."""
    with ExitStack() as stack:
        opened = [stack.enter_context(Corpus(path, check_digests=True)) for path in corpora]
        index = stack.enter_context(_bank(bot))
        added = index.add(_dialogues(opened, progress))
        return {"added": added, "dialogues": index.counts["dialogues"], "utterances": index.counts["utterances"]}


def remove_from_bank(bot: Path, dialogue_ids: Sequence[str]) -> dict[str, int]:
    """Remove dialogues by id, all or none: ``{"removed", "dialogues", "utterances"}``."""
    with _bank(bot) as index:
        removed = index.remove(dialogue_ids)
        return {"removed": removed, "dialogues": index.counts["dialogues"], "utterances": index.counts["utterances"]}


def _bank(bot: Path) -> MatchingIndex:
    read_manifest(bot, "bot")
    config = load_config(bot)
    for part in config.components:
        if part.kind == "matching":
            return MatchingIndex.open(part.options.path("bank", "bank"))
    raise ConfigurationError("has no matching component, so it has no bank", where=config.file)


def _dialogues(corpora: Sequence[Corpus], progress: _Progress | None) -> Iterator[Dialogue]:
    total = sum(len(corpus) for corpus in corpora)
    for corpus in corpora:
        for dialogue in corpus.dialogues():
            if progress is not None:
                progress(1, total)
            yield dialogue
