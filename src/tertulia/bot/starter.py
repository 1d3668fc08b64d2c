"""The starter bot: built at its first use from the material in the package, into the user's cache."""

from __future__ import annotations

import hashlib
from pathlib import Path

from platformdirs import user_cache_path

from tertulia import __version__
from tertulia.artefact import MANIFEST, digest_of_path, verify
from tertulia.bot.build import BotOptions, build_bot, starter_material
from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import Dialogue
from tertulia.errors import ArtefactError
from tertulia.formats.jsonl import JsonLinesFormat

__all__ = ["STARTER", "starter_bot", "starter_dialogues"]

# Conversations, each of one piece; and exchanges: short things that strangers say, each with an answer, on a theme.
_FOLDERS = ("dialogues", "exchanges")

STARTER = BotOptions(
    name="Sol",
    threshold=0.45,
    greeting="Hello, I'm Sol. Pull up a chair: films, food, far-off places, odd facts - what shall we talk about?",
    openers=[
        "What's your favourite film?",
        "I'm hungry, any ideas?",
        "Tell me a joke",
        "Let's talk about music",
        "Where should I travel next?",
    ],
)


def starter_dialogues() -> list[Dialogue]:
    """The starter's bank in order of id: its conversations, and the exchanges beside them."""
    material = starter_material()
    found = [
        record.dialogue
        for folder in _FOLDERS
        for record in JsonLinesFormat().read(str(material / folder), Report(), ReadOptions())
    ]
    return sorted(found, key=lambda dialogue: dialogue.id)


def starter_bot() -> Path:
    """The directory of the starter bot, whole: built now where it is not there yet or its digests do not hold."""
    material = starter_material()
    key = hashlib.sha256(f"{__version__}\0{digest_of_path(material)['sha256']}\0{STARTER}".encode()).hexdigest()[:12]
    path = user_cache_path("tertulia") / f"starter-{key}"
    if (path / MANIFEST).is_file():
        try:
            verify(path, "bot")
        except ArtefactError:
            pass
        else:
            return path
    inputs = [digest_of_path(material / folder) for folder in _FOLDERS]
    bank = starter_dialogues()
    build_bot(bank, path, STARTER, inputs=inputs, command=["tertulia", "chat"], licence="Apache-2.0", overwrite=True)
    return path
