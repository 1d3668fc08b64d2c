"""What ``stackexchange build`` means, in plain Python over ``xml.etree`` and dictionaries: slow, whole in memory, easy to check.

Well-formed dumps only. Nothing here comes from the product but the shape of a dialogue and the rounding of splits.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from tertulia.corpus.model import Dialogue, Utterance
from tertulia.corpus.parts.splitting import targets
from tests.stackexchange.reference_text import comment_links, comment_text, html_links, html_text

ALL = ("two-users", "two-utterances-each", "grounded", "not-offensive", "not-edited", "positive-ending")
BIG = {"stackoverflow", "serverfault", "superuser", "askubuntu", "stackapps"}

TAG = re.compile(r"<[^>]*>")
ANCHOR = re.compile(r"<a\s[^>]*href\s*=\s*[\"'][^\"'\s]", re.I | re.A)
URL = re.compile(r"https?://[0-9a-z\[]", re.I | re.A)
MARKER = re.compile(r"(?<![0-9A-Za-z_])(?:edit|edited|deprecated)[ 0-9]{0,8}:", re.I | re.A)

Row = dict[str, str]


@dataclass
class Options:
    criteria: Sequence[str] = ALL
    text: str = "plain"
    edited: str = "marker"
    threshold: float = 0.3
    thresholds: dict[str, float] = field(default_factory=dict)
    split: dict[str, float] | None = field(default_factory=lambda: {"train": 0.7, "dev": 0.15, "test": 0.15})
    sites: dict[str, str] = field(default_factory=dict)


@dataclass
class Site:
    """One dump in memory."""

    host: str
    domain: str
    questions: dict[int, Row]
    answers: list[Row]
    comments: dict[int, list[Row]]
    users: dict[int, str | None]
    offensive: set[int]
    revised: set[int] | None


@dataclass
class Part:
    """One post or comment of a thread, before neighbours of one person are merged."""

    person: str
    source: str
    is_html: bool
    id: str
    attributes: dict[str, Any]
    sent_at: datetime


@dataclass
class Thread:
    """A candidate: a question, an answer to it by somebody else, and the comments on that answer."""

    site: Site
    question: Row
    answer: Row
    comments: list[Row]
    seeker: str
    provider: str
    runs: list[list[Part]] = field(default_factory=list)


def build(dumps: Sequence[Path], options: Options) -> tuple[list[Dialogue], list[dict[str, Any]]]:
    """The dialogues in order of their ids, and the funnel."""
    sites = sorted((read_site(dump, options) for dump in dumps), key=lambda site: site.domain)
    funnel: list[dict[str, Any]] = []
    answers = [(site, answer) for site in sites for answer in site.answers]
    with_question = [(site, answer) for site, answer in answers if parent(answer) in site.questions]
    threads = [thread_of(site, answer) for site, answer in with_question]
    candidates = [thread for thread in threads if thread.seeker != thread.provider]
    step(funnel, "questions", sum(len(site.questions) for site in sites), 0)
    step(funnel, "answers", len(with_question), len(answers) - len(with_question))
    step(funnel, "candidates", len(candidates), len(threads) - len(candidates))
    for thread in candidates:
        thread.runs = merged(parts_of(thread))
    left = candidates
    for name in options.criteria:
        failing = {id(thread) for thread in candidates if not meets(thread, name, options)}
        passed = [thread for thread in left if id(thread) not in failing]
        step(funnel, name, len(passed), len(left) - len(passed))
        funnel[-1]["alone"] = len(failing)
        left = passed
    step(funnel, "dialogues", len(left), 0)
    dialogues = [dialogue_of(thread, options) for thread in left]
    dialogues.sort(key=lambda d: d.id)
    if options.split:
        split(dialogues, options.split)
    return dialogues, funnel


def step(funnel: list[dict[str, Any]], name: str, kept: int, removed: int) -> None:
    funnel.append({"step": name, "kept": kept, "removed": removed})


# ---------------------------------------------------------------------------------------------------------------- reading


def read_site(dump: Path, options: Options) -> Site:
    name = re.sub("_[0-9]{6,8}$", "", dump.name)
    host = options.sites.get(dump.name) or options.sites.get(name) or host_of(name)
    stem = ".stackexchange.com"
    domain = host.removesuffix(stem) if host.endswith(stem) else host.rpartition(".")[0]
    posts = rows(dump, "posts")
    revised = None
    if table_file(dump, "posthistory"):
        revised = {int(row["PostId"]) for row in rows(dump, "posthistory") if row["PostHistoryTypeId"] in ("5", "8")}
    comments = defaultdict(list)
    for row in rows(dump, "comments"):
        comments[int(row["PostId"])].append(row)
    return Site(
        host=host,
        domain=domain,
        questions={int(row["Id"]): row for row in posts if row["PostTypeId"] == "1"},
        answers=[row for row in posts if row["PostTypeId"] == "2"],
        comments=comments,
        users={int(row["Id"]): row.get("DisplayName") for row in rows(dump, "users")},
        offensive={int(row["PostId"]) for row in rows(dump, "votes") if row["VoteTypeId"] in ("4", "12")},
        revised=revised,
    )


def host_of(name: str) -> str:
    if re.search(r"\.(com|net|org)$", name):
        return name
    if name in BIG:
        return name + ".com"
    if name == "mathoverflow":
        return "mathoverflow.net"
    if name == "meta":
        return "meta.stackexchange.com"
    if name.endswith(".meta"):
        main = name.removesuffix(".meta")
        if main in BIG or main == "mathoverflow":
            return "meta." + host_of(main)
        return name + ".stackexchange.com"
    return name + ".stackexchange.com"


def table_file(dump: Path, table: str) -> Path | None:
    return next((file for file in dump.iterdir() if file.name.lower() == f"{table}.xml"), None)


def rows(dump: Path, table: str) -> list[Row]:
    file = table_file(dump, table)
    return [dict(element.attrib) for element in ElementTree.parse(file).getroot()] if file else []


def number(row: Row, name: str) -> int | None:
    return int(row[name]) if name in row else None


def time_of(row: Row) -> datetime:
    whole, _, fraction = row["CreationDate"].partition(".")
    moment = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    return moment + timedelta(milliseconds=int((fraction + "000")[:3]))


def parent(answer: Row) -> int | None:
    return number(answer, "ParentId")


# ---------------------------------------------------------------------------------------------------------------- threads


def post_person(post: Row) -> str:
    if "OwnerUserId" in post:
        return str(int(post["OwnerUserId"]))
    if post.get("OwnerDisplayName"):
        return "~" + post["OwnerDisplayName"]
    return f"?p{int(post['Id'])}"


def comment_person(comment: Row) -> str:
    if "UserId" in comment:
        return str(int(comment["UserId"]))
    if comment.get("UserDisplayName"):
        return "~" + comment["UserDisplayName"]
    return f"?c{int(comment['Id'])}"


def thread_of(site: Site, answer: Row) -> Thread:
    question = site.questions[parent(answer)]
    comments = sorted(site.comments[int(answer["Id"])], key=lambda row: (time_of(row), int(row["Id"])))
    return Thread(site, question, answer, comments, post_person(question), post_person(answer))


def parts_of(thread: Thread) -> list[Part]:
    question, answer, host = thread.question, thread.answer, thread.site.host
    q, a = int(question["Id"]), int(answer["Id"])
    parts = [
        post_part(thread, question, f"https://{host}/q/{q}"),
        post_part(thread, answer, f"https://{host}/a/{a}"),
    ]
    for comment in thread.comments:
        c = int(comment["Id"])
        attributes = {"post": a, "comment": c, "url": f"https://{host}/a/{a}#comment{c}_{a}"}
        attributes |= credits_of(thread.site, comment, "UserId", "UserDisplayName")
        person = comment_person(comment)
        parts.append(Part(person, comment["Text"], False, f"{a}_{c}", attributes, time_of(comment)))
    return parts


def post_part(thread: Thread, post: Row, url: str) -> Part:
    number_ = int(post["Id"])
    attributes = {"post": number_, "url": url}
    attributes |= credits_of(thread.site, post, "OwnerUserId", "OwnerDisplayName")
    return Part(post_person(post), post.get("Body", ""), True, str(number_), attributes, time_of(post))


def credits_of(site: Site, row: Row, id_name: str, name_name: str) -> dict[str, Any]:
    """Whom to thank and on what terms; what is not known is left out."""
    user = number(row, id_name)
    found = {
        "user": user,
        "author": (site.users.get(user) if user is not None else None) or row.get(name_name) or None,
        "licence": row.get("ContentLicense") or licence_at(time_of(row)),
        "votes": number(row, "Score"),
    }
    return {name: value for name, value in found.items() if value is not None}


def licence_at(moment: datetime) -> str:
    if moment < datetime(2011, 4, 8, tzinfo=UTC):
        return "CC BY-SA 2.5"
    return "CC BY-SA 3.0" if moment < datetime(2018, 5, 2, tzinfo=UTC) else "CC BY-SA 4.0"


def merged(parts: list[Part]) -> list[list[Part]]:
    """Parts of one person that follow each other are one utterance."""
    runs: list[list[Part]] = []
    for part in parts:
        if runs and runs[-1][0].person == part.person:
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


# --------------------------------------------------------------------------------------------------------------- criteria


def meets(thread: Thread, criterion: str, options: Options) -> bool:
    parts = [part for run in thread.runs for part in run]
    posts = {int(thread.question["Id"]), int(thread.answer["Id"])}
    speakers = [run[0].person for run in thread.runs]
    if criterion == "two-users":
        return len(set(speakers)) == 2
    if criterion == "two-utterances-each":
        return speakers.count(thread.seeker) >= 2 and speakers.count(thread.provider) >= 2
    if criterion == "grounded":
        return any(is_linked(part) for part in parts[1:] if part.person == thread.provider)
    if criterion == "not-offensive":
        return not posts & thread.site.offensive
    if criterion == "not-edited":
        if options.edited == "marker":
            return not any(is_marked(part) for part in parts)
        if thread.site.revised is None:
            return "LastEditDate" not in thread.question and "LastEditDate" not in thread.answer
        return not posts & thread.site.revised
    assert criterion == "positive-ending"
    if speakers[-1] != thread.seeker:
        return True
    least = options.thresholds.get(thread.site.domain, options.threshold)
    return compound(run_text(thread.runs[-1], "plain")) >= least


def is_linked(part: Part) -> bool:
    if not part.is_html:
        return bool(URL.search(part.source))
    return any(ANCHOR.match(tag) for tag in TAG.findall(part.source)) or bool(URL.search(TAG.sub("", part.source)))


def is_marked(part: Part) -> bool:
    return bool(MARKER.search(TAG.sub("", part.source) if part.is_html else part.source))


@cache
def analyser() -> SentimentIntensityAnalyzer:
    return SentimentIntensityAnalyzer()


@cache
def compound(text: str) -> float:
    return float(analyser().polarity_scores(text)["compound"])


# -------------------------------------------------------------------------------------------------------------- dialogues


def run_text(run: list[Part], style: str) -> str:
    texts = [html_text(part.source, style) if part.is_html else comment_text(part.source, style) for part in run]
    return "\n\n".join(text for text in texts if text)


def dialogue_of(thread: Thread, options: Options) -> Dialogue:
    site, question, answer = thread.site, thread.question, thread.answer
    q, a = int(question["Id"]), int(answer["Id"])
    accepted = number(question, "AcceptedAnswerId") == a
    tags = [tag for tag in re.split(r"[<>|]+", question.get("Tags", "")) if tag]
    attributes: dict[str, Any] = {
        "thread": f"{site.domain}-{q}",
        "question": q,
        "answer": a,
        "accepted": accepted,
        "site": site.host,
        "url": f"https://{site.host}/a/{a}",
    }
    if tags:
        attributes["tags"] = tags
    return Dialogue(
        id=f"{site.domain}-{q}-{a}",
        utterances=[utterance(thread, place, options, accepted) for place in range(len(thread.runs))],
        domain=site.domain,
        title=question.get("Title"),
        started_at=time_of(question),
        attributes=attributes,
    )


def utterance(thread: Thread, place: int, options: Options, accepted: bool) -> Utterance:
    run = thread.runs[place]
    first = run[0]
    attributes = first.attributes | {"is_answer": int(accepted and first.id == thread.answer["Id"])}
    links = [link for part in run for link in (html_links if part.is_html else comment_links)(part.source)]
    if links:
        attributes["links"] = list(dict.fromkeys(links))
    if len(run) > 1:
        attributes["merged"] = [
            {name: part.attributes[name] for name in ("post", "comment", "licence", "url", "votes")
             if name in part.attributes}
            | {"id": part.id, "sent_at": part.sent_at.replace(tzinfo=None).isoformat(timespec="milliseconds")}
            for part in run[1:]
        ]  # fmt: skip
    roles = {thread.seeker: "user", thread.provider: "agent"}
    return Utterance(
        position=place,
        turn=place,
        speaker=first.person,
        text=run_text(run, options.text),
        role=roles.get(first.person),  # type: ignore[arg-type]
        sent_at=first.sent_at,
        id=first.id,
        attributes=attributes,
    )


def split(dialogues: list[Dialogue], fractions: dict[str, float]) -> None:
    """A thread goes where its first dialogue falls when all are counted by the time of their questions."""
    wanted = targets(len(dialogues), fractions=fractions, counts=None)
    places = [name for name, count in wanted.items() for _ in range(count)]
    by_time = sorted(dialogues, key=lambda d: (d.started_at, d.attributes["thread"]))
    split_of: dict[str, str] = {}
    for place, dialogue in enumerate(by_time):
        dialogue.split = split_of.setdefault(dialogue.attributes["thread"], places[place])
