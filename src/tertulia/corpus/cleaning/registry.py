"""The table of cleaning filters: what ships, and what installed packages add under the entry point ``tertulia.filters``."""

from __future__ import annotations

from tertulia.corpus.cleaning.filter import Filter
from tertulia.registry import Registry

__all__ = ["FILTERS"]

FILTERS: Registry[Filter] = Registry(
    "filter",
    group="tertulia.filters",
    shipped={
        "offensive": "tertulia.corpus.cleaning.offensive_language:OffensiveLanguage",
        "personal": "tertulia.corpus.cleaning.personal:PersonalDetails",
        "needs-knowledge": "tertulia.corpus.cleaning.needs_knowledge:NeedsKnowledge",
        "language": "tertulia.corpus.cleaning.language:OtherLanguage",
        "short": "tertulia.corpus.cleaning.short:TooShort",
        "duplicates": "tertulia.corpus.cleaning.duplicates:Duplicates",
    },
)
