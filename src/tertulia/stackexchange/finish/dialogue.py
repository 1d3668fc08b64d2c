"""A thread as a dialogue: the question and its answer, the comments on that answer, and whom to credit for each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from tertulia.corpus.model import Dialogue, Utterance, number_turns
from tertulia.stackexchange.finish.comment_text import TextStyle, comment_text
from tertulia.stackexchange.finish.html_text import html_text
from tertulia.stackexchange.finish.links import comment_links

__all__ = ["Comment", "Post", "SiteNames", "Thread", "dialogue_of", "last_word", "licence_at"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
# The licence of what was written before these moments (milliseconds), where the dump does not say.
_LICENCES = (
    (int(datetime(2011, 4, 8, tzinfo=UTC).timestamp() * 1000), "CC BY-SA 2.5"),
    (int(datetime(2018, 5, 2, tzinfo=UTC).timestamp() * 1000), "CC BY-SA 3.0"),
)
_LATEST_LICENCE = "CC BY-SA 4.0"
_TAG = re.compile(r"[^<>|]+")


class SiteNames(NamedTuple):
    """The names of a site."""

    domain: str
    host: str


class Comment(NamedTuple):
    """A comment as the threads have it; times are milliseconds since 1970."""

    id: int
    created: int
    score: int | None
    user: int | None
    person: str
    name: str | None
    licence: str | None
    text: str | None


class Post(NamedTuple):
    """A question or an answer as the threads have it."""

    id: int
    created: int
    score: int | None
    user: int | None
    person: str
    name: str | None
    licence: str | None
    body: str | None


class Thread(NamedTuple):
    """A question, one answer to it, and the comments on that answer in order."""

    site: SiteNames
    question: Post
    answer: Post
    title: str | None
    tags: str | None
    accepted: int | None
    comments: Sequence[Comment]


@dataclass(slots=True)
class _Part:
    """A post or a comment on its way into an utterance."""

    person: str
    id: str
    created: int
    text: str
    links: list[str]
    attributes: dict[str, Any]


def last_word(seeker: str, comments: Sequence[Comment]) -> str:
    """The text of the utterance that the seeker's comments at the end make, in its plain form."""
    texts: list[str] = []
    for comment in reversed(comments):
        if comment.person != seeker:
            break
        texts.append(comment_text(comment.text or "", "plain"))
    return _joined(reversed(texts))


def dialogue_of(thread: Thread, text: TextStyle) -> Dialogue:
    """The dialogue of a thread, without a split. Consecutive parts by one person are one utterance."""
    site, question, answer = thread.site, thread.question, thread.answer
    host = site.host
    is_accepted = thread.accepted == answer.id
    parts = [
        _post_part(question, f"https://{host}/q/{question.id}", text),
        _post_part(answer, f"https://{host}/a/{answer.id}", text),
        *(_comment_part(comment, answer.id, host, text) for comment in thread.comments),
    ]
    runs: list[list[_Part]] = []
    for part in parts:
        if runs and runs[-1][0].person == part.person:
            runs[-1].append(part)
        else:
            runs.append([part])
    turns = number_turns([run[0].person for run in runs])
    utterances = [
        _utterance(position, turn, run, _role(run[0].person, thread), int(is_accepted and run[0] is parts[1]))
        for position, (turn, run) in enumerate(zip(turns, runs, strict=True))
    ]
    attributes: dict[str, Any] = {
        "thread": f"{site.domain}-{question.id}",
        "question": question.id,
        "answer": answer.id,
        "accepted": is_accepted,
        "site": host,
        "url": f"https://{host}/a/{answer.id}",
    }
    tags = _TAG.findall(thread.tags) if thread.tags else []
    if tags:
        attributes["tags"] = tags
    return Dialogue(
        f"{site.domain}-{question.id}-{answer.id}",
        utterances,
        site.domain,
        None,
        thread.title,
        _time(question.created),
        attributes,
    )


def _role(person: str, thread: Thread) -> Literal["user", "agent"] | None:
    if person == thread.question.person:
        return "user"
    return "agent" if person == thread.answer.person else None


def _post_part(post: Post, url: str, style: TextStyle) -> _Part:
    body = post.body or ""
    converted = html_text(body, "markdown" if style == "markdown" else "plain")
    text = body if style == "html" else converted.text
    return _Part(post.person, str(post.id), post.created, text, converted.links, _credits(post, post.id, None, url))


def _comment_part(comment: Comment, post: int, host: str, style: TextStyle) -> _Part:
    source = comment.text or ""
    return _Part(
        comment.person,
        f"{post}_{comment.id}",
        comment.created,
        comment_text(source, style),
        list(comment_links(source)),
        _credits(comment, post, comment.id, f"https://{host}/a/{post}#comment{comment.id}_{post}"),
    )


def _credits(part: Post | Comment, post: int, comment: int | None, url: str) -> dict[str, Any]:
    """Who wrote it, under which licence, where it stands, and its score; what is not known is left out."""
    found: dict[str, Any] = {"post": post, "licence": part.licence or licence_at(part.created), "url": url}
    if comment is not None:
        found["comment"] = comment
    if part.user is not None:
        found["user"] = part.user
    if part.name:
        found["author"] = part.name
    if part.score is not None:
        found["votes"] = part.score
    return found


def licence_at(created: int) -> str:
    """The licence of what was written at a time (milliseconds since 1970): that of the network then."""
    for until, licence in _LICENCES:
        if created < until:
            return licence
    return _LATEST_LICENCE


def _utterance(
    position: int, turn: int, run: list[_Part], role: Literal["user", "agent"] | None, is_answer: int
) -> Utterance:
    first = run[0]
    attributes = first.attributes
    attributes["is_answer"] = is_answer
    text, links = first.text, first.links
    if len(run) > 1:
        text = _joined(part.text for part in run)
        links = [link for part in run for link in part.links]
        attributes["merged"] = [_merged(part) for part in run[1:]]
    if links:
        attributes["links"] = list(dict.fromkeys(links))
    return Utterance(position, turn, first.person, text, role, _time(first.created), first.id, attributes)


def _merged(part: _Part) -> dict[str, Any]:
    """What stays of a part that is not the first of its utterance."""
    kept = {name: value for name, value in part.attributes.items() if name not in ("user", "author")}
    sent_at = _time(part.created).replace(tzinfo=None).isoformat(timespec="milliseconds")
    return kept | {"id": part.id, "sent_at": sent_at}


def _joined(texts: Any) -> str:
    return "\n\n".join(filter(None, texts))


def _time(milliseconds: int) -> datetime:
    return _EPOCH + milliseconds * _MILLISECOND
