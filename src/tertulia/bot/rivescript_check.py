"""A strict reading of RiveScript files, before the interpreter sees them: it passes over in silence what is refused here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tertulia.errors import ConfigurationError

__all__ = ["Trigger", "read_rules"]

_COMMANDS = "!><+-%^@*/"
_NEEDS_TRIGGER = {"-": "reply", "@": "redirect", "*": "condition", "%": "%Previous", "^": "continuation"}
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}
_PAIRED_TAGS = ("random", "person", "formal", "sentence", "uppercase", "lowercase")
_WHITE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Trigger:
    """Where a trigger stands: ``file`` by name, ``line`` from 1; ``topic`` is RiveScript's, ``random`` by default."""

    text: str
    file: str
    line: int
    topic: str
    previous: str | None
    redirect: str | None


class _File:
    """The state of reading one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.triggers: list[Trigger] = []
        self.begun: tuple[str, int, str] | None = None
        self.previous: str | None = None
        self.redirect: str | None = None
        self.answers = 0
        self.topic = "random"
        self.topic_line = 0
        self.topics_named: list[tuple[str, int]] = []

    def fail(self, line: int, message: str, hint: str | None = None) -> ConfigurationError:
        return ConfigurationError(message, where=f"{self.path}:{line}", hint=hint)

    def end_trigger(self) -> None:
        if self.begun is None:
            return
        text, line, topic = self.begun
        if not self.answers:
            raise self.fail(line, f"the trigger {text!r} has no reply; expected a line that begins with - or @ or *")
        self.triggers.append(Trigger(text, self.path.name, line, topic, self.previous, self.redirect))
        self.begun, self.previous, self.redirect, self.answers = None, None, None, 0


def read_rules(directory: Path) -> list[Trigger]:
    """Check every ``*.rive`` file of a folder; the triggers with where they stand.

    Raises
    ------
    ConfigurationError
        Naming file and line, what was found and what was expected; also where a file would run code.
    """
    files = sorted(directory.glob("*.rive"))
    if not files:
        raise ConfigurationError("holds no *.rive file; expected RiveScript rules", where=directory)
    read = [_read(path) for path in files]
    topics = {trigger.topic for file in read for trigger in file.triggers} | {"random"}
    for file in read:
        for topic, line in file.topics_named:
            if topic not in topics:
                raise file.fail(line, f"{{topic={topic}}} names a topic that no file has")
    return [trigger for file in read for trigger in file.triggers]


def _read(path: Path) -> _File:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot be read: {error}", where=path) from None
    file = _File(path)
    comment = 0
    for number, raw in enumerate(lines, start=1):
        line = _WHITE.sub(" ", raw.strip())
        if comment:
            comment = 0 if "*/" in line else comment
        elif line.startswith("/*"):
            comment = 0 if "*/" in line else number
        elif line and not line.startswith("//"):
            _command(file, number, line[0], line[1:].split(" //")[0].strip())
    if comment:
        raise file.fail(comment, "the comment that begins here with /* never ends")
    file.end_trigger()
    if file.topic != "random":
        raise file.fail(file.topic_line, "the block that begins here has no end; expected a line < topic or < begin")
    return file


def _command(file: _File, number: int, command: str, rest: str) -> None:
    if command not in _COMMANDS:
        raise file.fail(number, f"a line begins with {command!r}; expected one of {' '.join(_COMMANDS)}")
    if not rest:
        raise file.fail(number, f"a line holds {command!r} and nothing else")
    if command == ">":
        _open_label(file, number, rest)
    elif command == "<":
        _close_label(file, number, rest)
    elif command == "!":
        match = re.match(r"(sub|person) (\d+) *=", rest)
        if match:
            raise file.fail(
                number, f"a substitution of {match[2]!r}: RiveScript takes bare digits for marks of its own"
            )
    elif command == "+":
        file.end_trigger()
        _check_pattern(file, number, rest)
        file.begun = (rest, number, file.topic)
    elif command in _NEEDS_TRIGGER:
        # A definition (!) may go on over several lines with ^.
        if file.begun is None and command != "^":
            raise file.fail(number, f"a {_NEEDS_TRIGGER[command]} stands before any trigger")
        _inside_trigger(file, number, command, rest)


def _open_label(file: _File, number: int, rest: str) -> None:
    file.end_trigger()
    kind, *names = rest.split(" ")
    if kind == "object":
        raise file.fail(number, "a rule file must not hold code (> object)", hint="write a component in Python instead")
    if kind not in {"begin", "topic"} or (kind == "topic" and not names):
        raise file.fail(number, f"> {rest} is no label; expected > begin or > topic NAME")
    if file.topic != "random":
        raise file.fail(number, f"a block begins inside the one of line {file.topic_line}")
    file.topic, file.topic_line = ("__begin__" if kind == "begin" else names[0]), number


def _close_label(file: _File, number: int, rest: str) -> None:
    file.end_trigger()
    if rest not in {"begin", "topic"} or file.topic == "random":
        raise file.fail(number, f"< {rest} ends no block that has begun")
    file.topic = "random"


def _inside_trigger(file: _File, number: int, command: str, rest: str) -> None:
    if command == "%":
        _check_pattern(file, number, rest)
        file.previous = rest
        return
    if "<call>" in rest:
        raise file.fail(
            number, "<call> would run code, which rules must not", hint="write a component in Python instead"
        )
    if command == "@":
        _check_pattern(file, number, rest)
        file.redirect = rest
    elif command == "*" and "=>" not in rest:
        raise file.fail(number, f"the condition {rest!r} has no =>; expected * VALUE == VALUE => REPLY")
    elif command != "@":
        _check_reply(file, number, rest)
    file.answers += command != "^"
    file.topics_named += [(topic, number) for topic in re.findall(r"\{topic=([^}<]+)\}", rest)]


def _check_pattern(file: _File, number: int, text: str) -> None:
    opened: list[str] = []
    for character in text:
        if character in _PAIRS.values():
            opened.append(character)
        elif character in _PAIRS and (not opened or opened.pop() != _PAIRS[character]):
            raise file.fail(number, f"{text!r} has a {character!r} that closes nothing")
    if opened:
        raise file.fail(number, f"{text!r} has a {opened[-1]!r} that is never closed")


def _check_reply(file: _File, number: int, text: str) -> None:
    for tag in _PAIRED_TAGS:
        if text.count(f"{{{tag}}}") != text.count(f"{{/{tag}}}"):
            raise file.fail(number, f"the reply has a {{{tag}}} without its {{/{tag}}} on the same line")
