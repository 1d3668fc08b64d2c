"""Make a bot's directory from corpora and rules."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from tertulia.artefact import MANIFEST, Manifest, create, digest_of_path, verify
from tertulia.bot.config import load_config
from tertulia.bot.registry import COMPONENTS
from tertulia.bot.reranking import OpenReranker, Reranker, no_rerankers
from tertulia.corpus.model import Dialogue
from tertulia.errors import InputError
from tertulia.retrieval.matching import MatchingIndex

__all__ = ["RERANK", "BotOptions", "build_bot", "copy_artefact", "starter_material"]

RERANK = "rerank"
"""The directory inside a bot of the ranker that puts banked responses into order, where there is one."""
_RULES = """
[[component]]
kind = "rules"
threshold = 0.0
deadline_ms = 500
path = "rules"
"""
_MATCHING = """
{comment}[[component]]
kind = "matching"
threshold = {threshold}
exact_confidence = {exact_confidence}
deadline_ms = 1000
bank = "bank"
candidates = 10
tolerance = 0.01
topic_bonus = 0.02
{rerank}"""
_RERANK = f'rerank = "{RERANK}"\n'
_LAST_MATCHING = """\
# Only backup lines come after this, and a weaker match is better company than they are; so is what once followed the very
# same message.
"""
_BACKUP = """
[[component]]
kind = "backup"
threshold = 0.0
deadline_ms = 500
path = "backup.txt"
"""


@dataclass(frozen=True, slots=True)
class BotOptions:
    """What goes into ``bot.toml``, and how the bank is weighed.

    ``scale`` is s of the matching score; ``threshold`` the confidence that a banked response needs, ``last_threshold`` the one it
    needs when only backup lines are left.
    """

    name: str
    language: str = "en"
    seed: int = 0
    scale: float = 1.3
    threshold: float = 0.5
    last_threshold: float = 0.2
    greeting: str = "Hello! I answer from conversations that people once had. What shall we talk about?"
    openers: list[str] = field(default_factory=list)


def starter_material(language: str = "en") -> Path:
    """The folder of the starter's rules and backup lines (and, for English, dialogues) inside the installed package."""
    material = Path(str(resources.files("tertulia.starter")))
    return material if language == "en" else material / language


def build_bot(
    dialogues: Iterable[Dialogue],
    path: str | Path,
    options: BotOptions,
    *,
    rules: Path | None = None,
    backup: Path | None = None,
    rerank: Path | None = None,
    open_reranker: OpenReranker = no_rerankers,
    inputs: list[dict[str, Any]] | None = None,
    command: list[str] | None = None,
    licence: str | None = None,
    citation: str | None = None,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Manifest:
    """Build a bot whose bank is the given dialogues; the starter's rules and backup lines are taken where none are given.

    ``rerank`` is a trained ranker, which is copied into the bot and puts the responses of the bank into order.
    Everything is loaded once before the directory takes its name: a bot that was built can be started.

    Raises
    ------
    InputError
        There is no dialogue with two utterances, or two have the same id.
    ConfigurationError
        A rule file or an option does not hold.
    ArtefactError
        ``path`` cannot be written, or the ranker is none, damaged or of another language.
    """
    material = starter_material(options.language)
    rules = material / "rules" if rules is None else rules
    backup = material / "backup.txt" if backup is None else backup
    if not rules.is_dir():
        raise InputError("is not a folder of *.rive files", where=rules)
    manifest = Manifest(
        "bot",
        command=command or [],
        options={
            "scale": options.scale,
            "threshold": options.threshold,
            "last_threshold": options.last_threshold,
            "language": options.language,
        },
        seed=options.seed,
        inputs=[*(inputs or []), digest_of_path(rules)],
        licence=licence,
        citation=citation,
    )
    with create(path, manifest, overwrite=overwrite) as draft:
        (draft.directory / "bot.toml").write_text(_bot_toml(options, rerank is not None), encoding="utf-8")
        shutil.copyfile(backup, draft.directory / "backup.txt")
        (draft.directory / "rules").mkdir()
        for file in sorted(rules.glob("*.rive")):
            shutil.copyfile(file, draft.directory / "rules" / file.name)
        manifest.editable = ["bot.toml", "backup.txt", *(f"rules/{f.name}" for f in sorted(rules.glob("*.rive")))]
        # The rules and the ranker are checked before the work of building the bank begins.
        _check_components(draft.directory, {"rules", "backup"})
        if rerank is not None:
            # The components are not to load it a second and third time.
            open_reranker = partial(_already, open_reranker(rerank, options.language))
            copy_artefact(rerank, draft.directory / RERANK)
            manifest.inputs.append(digest_of_path(rerank))
        with MatchingIndex.build(
            dialogues,
            draft.directory / "bank",
            language=options.language,
            scale=options.scale,
            progress=progress,
            inputs=inputs or [],
            licence=licence,
            citation=citation,
        ) as index:
            manifest.counts = {key: index.counts[key] for key in ("dialogues", "utterances")}
            manifest.counts["topics"] = len(index.topics)
            if not manifest.counts["utterances"]:
                raise InputError("the corpus has no dialogue to answer from", where=path)
        _check_components(draft.directory, {"matching"}, open_reranker)
    return manifest


def _already(opened: Reranker, _path: Path, _language: str) -> Reranker:
    return opened


def copy_artefact(source: Path, target: Path) -> None:
    """Copy what the manifest of an artefact names, with its parts, and nothing else that lies there.

    Raises
    ------
    InputError
        There is nothing at ``source``.
    ArtefactError
        It is no artefact, or a file is not as its manifest says.
    """
    manifest = verify(source)
    target.mkdir()
    for name in [MANIFEST, *manifest.files]:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
    for part in manifest.parts:
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        copy_artefact(source / part, target / part)


def _check_components(directory: Path, kinds: set[str], open_reranker: OpenReranker = no_rerankers) -> None:
    """Load the components of these kinds once, so that what does not hold is said now."""
    config = replace(load_config(directory), open_reranker=open_reranker)
    for part in config.components:
        if part.kind in kinds:
            COMPONENTS.factory(part.kind).load(config, part.options)


def _bot_toml(options: BotOptions, reranks: bool) -> str:
    lines = [
        "# A bot: its name, and its components in the order in which they are asked. The first candidate that reaches its",
        "# component's threshold, passes the filter and has not been said before is the reply. Edit freely; errors name the line.",
        "",
        "[bot]",
        f"name = {_toml(options.name)}",
        f"language = {_toml(options.language)}",
        f"seed = {options.seed}",
        'privacy = "standard"',
        f"greeting = {_toml(options.greeting)}",
        "openers = [" + ", ".join(_toml(opener) for opener in options.openers) + "]",
    ]
    rerank = _RERANK if reranks else ""
    first = _MATCHING.format(comment="", threshold=options.threshold, exact_confidence=0.0, rerank=rerank)
    last = options.last_threshold
    again = _MATCHING.format(comment=_LAST_MATCHING, threshold=last, exact_confidence=last, rerank=rerank)
    return "\n".join(lines) + "\n" + _RULES + first + again + _BACKUP


def _toml(text: str) -> str:
    # A JSON string is a TOML basic string, but for the one control character that JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
