"""The RiveScript interpreter, made deterministic, thread-safe and quick; it answers exactly as the interpreter alone does.

The interpreter (the package ``rivescript``) tries every trigger of a topic in turn. Here only those are tried whose literal words
occur in the message, in the same order; a message that no rule knows costs next to nothing.
"""

from __future__ import annotations

import contextvars
import random
import re
import threading
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tertulia.errors import ConfigurationError

with warnings.catch_warnings():
    # The package is not maintained: its regular expressions have escapes that newer Pythons warn of.
    warnings.simplefilter("ignore")
    import rivescript.brain
    import rivescript.exceptions
    import rivescript.utils
    from rivescript import RiveScript

__all__ = ["Answer", "RuleEngine", "required_words"]

_USER = "user"
_HISTORY = "__history__"
_LAST_MATCH = "__lastmatch__"
_REMEMBERED_TURNS = 9
_WORDS = re.compile(r"\w+")
# A user's message must not run rules, set variables or change the topic: these characters make RiveScript's tags.
_TAG_CHARACTERS = frozenset("{}<>\\|")
_HARMFUL = re.compile(r"[{}<>\\|\x00-\x1f\x7f-\x9f]")
# Control and format characters, dashes but the hyphen, quotation marks, pictures.
_NOT_SAID = frozenset({"Cc", "Cf", "Cs", "Pi", "Pf", "So", "Sk"})
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "–": " ", "—": " ", '"': " "})
_LIBRARY_CHOICE = rivescript.utils.random_choice
_CHANCE: contextvars.ContextVar[random.Random | None] = contextvars.ContextVar("rivescript_chance", default=None)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply of the rules: ``trigger`` as it stands in the file, and the user's variables afterwards."""

    text: str
    trigger: str
    topic: str
    variables: dict[str, Any]


def _choice(options: Sequence[str]) -> str:
    """The library's choice by chance, from our own generator where there is one."""
    if not options:
        raise rivescript.exceptions.NoReplyError
    chance = _CHANCE.get()
    chosen: str = _LIBRARY_CHOICE(options) if chance is None else options[chance.randrange(len(options))]
    return chosen


class _Brain(rivescript.brain.Brain):  # type: ignore[misc]  # the package has no types
    """The interpreter's brain, mended: which triggers and substitutions it looks at, arrays, patterns compiled once."""

    def _getreply(self, user: str, msg: str, *arguments: Any, **named: Any) -> Any:
        for index in self.master.indexes:
            index.message = msg
        return super()._getreply(user, msg, *arguments, **named)

    def reply_regexp(self, user: str, regexp: str) -> Any:
        compiled = self.master._regexc["trigger"]
        # The library compiles a pattern with an array anew each time; only what names variables can change.
        if regexp not in compiled and "<" not in regexp:
            compiled[regexp] = super().reply_regexp(user, regexp)
        return compiled[regexp] if regexp in compiled else super().reply_regexp(user, regexp)

    def substitute(self, msg: str, kind: str) -> Any:
        # Only what occurs in the message can be substituted; a digit may also occur in the library's own placeholders.
        lists = self.master._sorted["lists"]
        whole = lists[kind]
        present = [pattern for pattern in whole if pattern in msg or pattern.isdigit()]
        if not present:
            return msg.strip()
        lists[kind] = present
        try:
            return super().substitute(msg, kind)
        finally:
            lists[kind] = whole

    def expand_array(self, array_name: str) -> list[str]:
        # The library gives a set, whose order differs between processes; the longest alternative first is what is meant. It
        # also forgets to read \\s as a space.
        entries = {entry.replace("\\s", " ") for entry in super().expand_array(array_name)}
        return sorted(entries, key=lambda entry: (-len(entry), entry))


class _Indexed(dict[str, list[Any]]):
    """The sorted triggers of each topic; what is looked up is only those that can match the current message.

    An entry of the interpreter's sorted lists is a pattern and the rule it leads to, whose ``trigger`` the message must match.
    """

    def __init__(self, topics: dict[str, list[Any]], arrays: dict[str, list[str]]) -> None:
        super().__init__(topics)
        self.message = ""
        self._latest: tuple[str, str] | None = None
        self._found: list[Any] = []
        # For each topic: the triggers that a word makes possible, with what else each requires; and those that require nothing.
        self._postings: dict[str, dict[str, list[tuple[int, list[list[frozenset[str]]]]]]] = {}
        self._always: dict[str, list[int]] = {}
        for topic, triggers in topics.items():
            postings: dict[str, list[tuple[int, list[list[frozenset[str]]]]]] = {}
            always: list[int] = []
            for number, trigger in enumerate(triggers):
                clauses = required_words(trigger[1]["trigger"], arrays)
                for alternative in clauses[0] if clauses else ():
                    postings.setdefault(_longest(alternative), []).append((number, clauses))
                if not clauses:
                    always.append(number)
            self._postings[topic] = postings
            self._always[topic] = always

    def __getitem__(self, topic: str) -> list[Any]:
        if self._latest != (topic, self.message):
            self._found, self._latest = self._look_up(topic), (topic, self.message)
        return self._found

    def _look_up(self, topic: str) -> list[Any]:
        triggers = super().__getitem__(topic)
        postings = self._postings[topic]
        numbers = set(self._always[topic])
        words = set(_WORDS.findall(self.message))
        for word in words:
            for number, clauses in postings.get(word, ()):
                if all(any(alternative <= words for alternative in clause) for clause in clauses):
                    numbers.add(number)
        return [triggers[number] for number in sorted(numbers)]


class _Interpreter(RiveScript):  # type: ignore[misc]  # the package has no types
    """The interpreter over our brain."""

    def __init__(self) -> None:
        super().__init__(utf8=True, strict=True)
        self.unicode_punctuation = re.compile("[.,!?;:。，！？；：、…“”]")
        self._brain = _Brain(self, strict=True, utf8=True)
        self.indexes: list[_Indexed] = []

    def sort_replies(self, thats: bool = False) -> None:
        """Sort, then index what was sorted."""
        super().sort_replies(thats)
        for kind in ("topics", "thats"):
            self._sorted[kind] = _Indexed(self._sorted[kind], self._array)
        self.indexes = [self._sorted["topics"], self._sorted["thats"]]

    def _warn(self, message: str, fname: str = "", lineno: int = 0) -> None:
        raise ConfigurationError(str(message), where=f"{fname}:{lineno}" if fname else None)


class RuleEngine:
    """The rules of a folder. One engine serves all conversations: what it knows of one is given and given back.

    Raises
    ------
    ConfigurationError
        A file does not hold.
    """

    def __init__(self, directory: Path) -> None:
        # The library chooses through this one function; without a generator of ours it works as before.
        rivescript.utils.random_choice = _choice
        self._lock = threading.Lock()
        self._interpreter = _Interpreter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for file in sorted(directory.glob("*.rive")):
                    self._interpreter._parse(str(file), file.read_text(encoding="utf-8-sig").splitlines())
                self._interpreter.sort_replies()
        except ConfigurationError:
            raise
        except Exception as error:
            raise _from_library(error, directory) from None

    def answer(
        self, text: str, variables: dict[str, Any], history: Sequence[tuple[str, str]], seed: int
    ) -> Answer | None:
        """The reply to a message, or ``None`` where no rule matches, or the one that does has nothing to say or never ends.

        Parameters
        ----------
        text:
            The message.
        variables:
            The user's variables, as an earlier answer gave them.
        history:
            The exchanges before, latest last: ``(what the user said, what the bot said)``.
        seed:
            For choices by chance.
        """
        message = _plain(text)
        with self._lock:
            token = _CHANCE.set(random.Random(seed))
            interpreter = self._interpreter
            try:
                interpreter.clear_uservars()
                interpreter.set_uservars(_USER, {**variables, _HISTORY: _history(history)})
                topic = str(variables.get("topic", "random"))
                reply = interpreter.reply(_USER, message, errors_as_replies=False)
                after = dict(interpreter.get_uservars(_USER))
            except rivescript.exceptions.RiveScriptError:
                return None
            finally:
                interpreter.clear_uservars()
                _CHANCE.reset(token)
        trigger = after.pop(_LAST_MATCH, None)
        after.pop(_HISTORY, None)
        reply = reply.strip()
        if trigger is None or not reply or "[ERR:" in reply:
            return None
        return Answer(reply, str(trigger), topic, {key: str(value) for key, value in sorted(after.items())})

    @staticmethod
    def problem(pattern: str) -> str | None:
        """What keeps a trigger from being a pattern, or ``None``."""
        try:
            _Interpreter()._brain.reply_regexp(_USER, pattern)
        except re.error as error:
            return str(error)
        return None

    def leads_somewhere(self, text: str, topics: set[str]) -> bool:
        """Whether a trigger of one of these topics matches a text as it stands."""
        with self._lock:
            brain, (index, _) = self._interpreter._brain, self._interpreter.indexes
            index.message = text
            return any(
                re.match(brain.reply_regexp(_USER, pattern), text)
                for topic in topics
                if topic in index
                for pattern, _ in index[topic]
            )

    def matches(self, pattern: str, text: str) -> bool:
        """Whether a pattern of a ``%Previous`` or a trigger matches a text of the bot's."""
        with self._lock:
            brain = self._interpreter._brain
            formatted = brain.format_message(text, botreply=True)
            return bool(re.match(brain.reply_regexp(_USER, pattern), formatted))


def _plain(text: str) -> str:
    """A message as rules see it: what RiveScript would take for a tag of its own, quotation marks, dashes between words and
    pictures become spaces; curly apostrophes become straight."""
    straight = text.translate(_APOSTROPHES)
    kept = "".join(" " if c in _TAG_CHARACTERS or unicodedata.category(c) in _NOT_SAID else c for c in straight)
    return " ".join(bare for word in kept.split() if (bare := word.strip("'")).strip("-"))


def _harmless(text: str) -> str:
    """What was said before, without what RiveScript would take for a tag of its own."""
    return _HARMFUL.sub(" ", text)


def _history(exchanges: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    latest = [(_harmless(said), _harmless(reply)) for said, reply in reversed(exchanges[-_REMEMBERED_TURNS:])]
    fill = ["undefined"] * (_REMEMBERED_TURNS - len(latest))
    return {"input": [said for said, _ in latest] + fill, "reply": [reply for _, reply in latest] + fill}


def _from_library(error: Exception, directory: Path) -> ConfigurationError:
    """The library's own syntax error, ``Syntax error in FILE line N: ...``, in our form."""
    match = re.match(r"Syntax error in (.+) line (\d+): (.+)", str(error), re.DOTALL)
    if match:
        return ConfigurationError(match[3], where=f"{match[1]}:{match[2]}")
    return ConfigurationError(f"cannot be used: {type(error).__name__}: {error}", where=directory)


def required_words(pattern: str, arrays: dict[str, list[str]]) -> list[list[frozenset[str]]]:
    """What a message must hold for a trigger to match it: of each clause one alternative, with all its words.

    The most telling clause, the one of fewest and longest alternatives, is first. Only what stands apart, between spaces,
    ends or optionals, is taken for a word: next to a wildcard a literal can be a part of one. An empty list says that
    nothing is certain.
    """
    found = [clause for part in _required_parts(pattern.lower()) if (clause := _alternatives(part, arrays))]
    return sorted(found, key=lambda clause: (len(clause), -min(len(_longest(words)) for words in clause)))


def _longest(words: frozenset[str]) -> str:
    return max(words, key=lambda word: (len(word), word))


def _required_parts(pattern: str) -> Iterator[str]:
    """The parts between spaces that are not optional; a group with its spaces is one part."""
    without = re.sub(r"\{weight=\d+\}", " ", pattern)
    without = re.sub(r"\[[^\]]*\]", " ", without)
    depth, part = 0, ""
    for character in without + " ":
        depth += (character == "(") - (character == ")")
        if character == " " and depth == 0:
            if part:
                yield part
            part = ""
        else:
            part += character


def _alternatives(part: str, arrays: dict[str, list[str]]) -> list[frozenset[str]] | None:
    """The words of each alternative of a part, or ``None`` where an alternative has none for certain."""
    inside = part[1:-1] if part.startswith("(") and part.endswith(")") else part
    if any(character in inside for character in "()"):
        return None
    found: list[frozenset[str]] = []
    for alternative in inside.split("|"):
        bare = alternative.strip()
        if re.fullmatch(r"@\w+", bare):
            entries = [entry.replace("\\s", " ").lower() for entry in arrays.get(bare[1:], [""])]
        else:
            entries = [bare]
        found += [frozenset(word for word in entry.split() if re.fullmatch(r"[^\W_]+", word)) for entry in entries]
    return found if all(found) else None
