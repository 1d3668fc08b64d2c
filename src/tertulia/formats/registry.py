"""The table of formats: what ships, and what installed packages add under the entry point ``tertulia.formats``."""

from __future__ import annotations

from tertulia.corpus.exchange import Format
from tertulia.registry import Registry

__all__ = ["FORMATS"]

FORMATS: Registry[Format] = Registry(
    "format",
    group="tertulia.formats",
    shipped={
        "self-dialogue": "tertulia.formats.self_dialogue:SelfDialogueFormat",
        "jsonl": "tertulia.formats.jsonl:JsonLinesFormat",
        "log": "tertulia.log.format:LogFormat",
    },
)
