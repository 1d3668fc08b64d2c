"""``backup``: lines that can follow anything. It always answers."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from tertulia.bot.config import BotConfig, OptionReader
from tertulia.bot.state import fold
from tertulia.bot.turn import Candidate, LineEvidence, Proposal, TurnInput
from tertulia.errors import ConfigurationError

__all__ = ["Backup"]


class Backup:
    """Says a line of a text file, those not yet said in this conversation first."""

    kind: ClassVar[str] = "backup"

    def __init__(self, lines: list[tuple[int, str]], shown: str) -> None:
        self._lines = lines
        self._file = shown

    @classmethod
    def load(cls, config: BotConfig, options: OptionReader) -> Backup:
        """From the text file ``path``: a line each, ``#`` begins a comment."""
        path: Path = options.path("path", "backup.txt")
        shown = path.relative_to(config.directory).as_posix()
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"cannot be read: {error}", where=path) from None
        lines = [
            (number, line.strip())
            for number, line in enumerate(text.splitlines(), start=1)
            if line.strip() and not line.lstrip().startswith("#")
        ]
        if not lines:
            raise ConfigurationError("has no line to say; expected at least one", where=path)
        return cls(lines, shown)

    def propose(self, turn: TurnInput) -> Proposal:
        """Every line, in an order by chance, the ones longest unsaid first."""
        last_said = {fold(exchange.reply): number for number, exchange in enumerate(turn.state.exchanges)}
        start = turn.seed % len(self._lines)
        rotated = self._lines[start:] + self._lines[:start]
        ordered = sorted(rotated, key=lambda line: last_said.get(fold(line[1]), -1))
        return Proposal(
            [Candidate(text, 0.0, LineEvidence(self._file, number, type="line")) for number, text in ordered[:8]]
        )
