"""The table of components: what ships, and what installed packages add under ``tertulia.components``."""

from __future__ import annotations

from tertulia.bot.turn import Component
from tertulia.registry import Registry

__all__ = ["COMPONENTS"]

COMPONENTS: Registry[Component] = Registry(
    "component",
    group="tertulia.components",
    shipped={
        "rules": "tertulia.bot.components.rules:Rules",
        "matching": "tertulia.bot.components.matching:Matching",
        "backup": "tertulia.bot.components.backup:Backup",
    },
)
