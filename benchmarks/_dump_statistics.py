"""What a Stack Exchange dump is like in figures: lengths, counts, shares. A generated dump is made by them and held against them.

``python benchmarks/_dump_statistics.py DUMP...`` prints what ``_dump_profile.py`` holds, of all dumps together, each in memory.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

TABLES = ("Posts", "Comments", "Users", "Votes")
LEVELS = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
ELEMENTS = ("a", "p", "code", "pre", "blockquote", "ul", "ol", "li", "strong", "em", "img", "br")
URL = re.compile(r"https?://[0-9a-z]", re.I)
MARKER = re.compile(r"(?<![0-9A-Za-z_])(?:edit|edited|deprecated)[ 0-9]{0,8}:", re.I)
TAG = re.compile(r"<[^>]*>")
ROLES = "spo"  # seeker, provider, other; "-" is where comments begin or end


@dataclass
class Counts:
    """Raw counts of one or more dumps, to be added up."""

    numbers: Counter[str] = field(default_factory=Counter)
    lists: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    follows: Counter[tuple[str, str]] = field(default_factory=Counter)
    vote_types: Counter[int] = field(default_factory=Counter)

    def read(self, dump: Path) -> None:
        """Add one dump. A table that is not there counts nothing."""
        posts = list(rows(dump, "Posts"))
        questions = {p["Id"]: p for p in posts if p["PostTypeId"] == "1"}
        answers = {p["Id"]: p for p in posts if p["PostTypeId"] == "2"}
        self.count_bytes(dump, len(posts))
        per_question = Counter(a.get("ParentId") for a in answers.values())
        for key, question in questions.items():
            self.lists["answers a question"].append(per_question[key])
            self.lists["tags a question"].append(len(re.findall("[^<>|]+", question.get("Tags", ""))))
            self.lists["title characters"].append(len(question.get("Title", "")))
            self.numbers["accepted"] += "AcceptedAnswerId" in question
            self.numbers["closed"] += "ClosedDate" in question
        for post in [*questions.values(), *answers.values()]:
            self.post(post)
        self.numbers["other posts"] += len(posts) - len(questions) - len(answers)
        self.comments(dump, questions, answers)
        self.people(dump, posts)
        votes = list(rows(dump, "Votes"))
        self.numbers["votes"] += len(votes)
        self.numbers["posts with votes table"] += len(questions) + len(answers) if votes else 0
        for vote in votes:
            self.vote_types[int(vote["VoteTypeId"])] += 1

    def count_bytes(self, dump: Path, posts: int) -> None:
        for table in TABLES:
            file = dump / f"{table}.xml"
            if file.exists():
                self.numbers[f"{table} bytes"] += file.stat().st_size
                self.numbers[f"{table} posts"] += posts

    def post(self, post: dict[str, str]) -> None:
        kind = "question" if post["PostTypeId"] == "1" else "answer"
        body = post.get("Body", "")
        text = TAG.sub("", body)
        self.numbers[f"{kind}s"] += 1
        self.lists[f"{kind} body characters"].append(len(body))
        self.lists[f"{kind} score"].append(int(post.get("Score", 0)))
        self.numbers[f"{kind} linked"] += bool(re.search(r"<a\s[^>]*href=", body) or URL.search(text))
        self.numbers[f"{kind} marked"] += bool(MARKER.search(text))
        self.numbers[f"{kind} edited"] += "LastEditDate" in post
        self.numbers[f"{kind} without user"] += "OwnerUserId" not in post
        self.numbers["body bytes"] += len(body.encode())
        self.numbers["characters not ASCII"] += sum(1 for c in body if c > "\x7f")
        self.numbers["body characters"] += len(body)
        for name in ELEMENTS:
            self.numbers[f"<{name}>"] += len(re.findall(rf"<{name}[ >/]", body))

    def comments(self, dump: Path, questions: dict[str, dict[str, str]], answers: dict[str, dict[str, str]]) -> None:
        by_post: dict[str, list[dict[str, str]]] = defaultdict(list)
        for row in rows(dump, "Comments"):
            by_post[row["PostId"]].append(row)
            self.numbers["comments"] += 1
            self.lists["comment characters"].append(len(row["Text"]))
            self.numbers["comment linked"] += bool(URL.search(row["Text"]))
            self.numbers["comment marked"] += bool(MARKER.search(row["Text"]))
            self.numbers["comment with [text](url)"] += "](http" in row["Text"]
            self.numbers["comment without user"] += "UserId" not in row
            self.lists["comment score"].append(int(row.get("Score", 0)))
        if not by_post:
            return
        for key in questions:
            self.lists["comments a question"].append(len(by_post[key]))
        for key, answer in answers.items():
            question = questions.get(answer.get("ParentId", ""))
            if question is None:
                continue
            seeker, provider = person(question, "Owner"), person(answer, "Owner")
            self.numbers["answers seen"] += 1
            self.numbers["own answers"] += seeker == provider
            mine = sorted(by_post[key], key=lambda row: (row["CreationDate"], int(row["Id"])))
            self.lists["comments an answer"].append(len(mine))
            said = "-"
            for row in mine:
                who = {seeker: "s", provider: "p"}.get(person(row, ""), "o")
                self.follows[said, who] += 1
                said = who
            self.lists["people a thread"].append(len({seeker, provider, *(person(row, "") for row in mine)}))

    def people(self, dump: Path, posts: list[dict[str, str]]) -> None:
        written = Counter(p["OwnerUserId"] for p in posts if "OwnerUserId" in p)
        users = 0
        for row in rows(dump, "Users"):
            users += 1
            for name in ("AboutMe", "Location", "WebsiteUrl"):
                self.numbers[f"user with {name}"] += bool(row.get(name))
            if row.get("AboutMe"):
                self.lists["about characters"].append(len(row["AboutMe"]))
        if users:
            self.numbers["users"] += users
            self.numbers["posts with users table"] += len(posts)
            top = sum(count for _, count in written.most_common(max(1, len(written) // 100)))
            self.numbers["posts of the first 1 % of writers"] += top
            self.numbers["posts of all writers"] += sum(written.values())
            self.numbers["writers"] += len(written)

    def profile(self) -> dict[str, object]:
        """Shares and means by name, lists of quantiles at ``LEVELS``, and the tables of who follows whom."""
        n = self.numbers
        posts = n["questions"] + n["answers"]
        shares = {
            "answers / questions": n["answers"] / n["questions"],
            "comments / posts": n["comments"] / max(1, n["Comments posts"]),
            "users / posts": n["users"] / max(1, n["posts with users table"]),
            "votes / posts": n["votes"] / max(1, n["posts with votes table"]),
            "tag wikis / posts": n["other posts"] / posts,
            "own answers / answers": n["own answers"] / max(1, n["answers seen"]),
            "accepted / questions": n["accepted"] / n["questions"],
            "closed / questions": n["closed"] / n["questions"],
            "not ASCII / characters": n["characters not ASCII"] / n["body characters"],
            "posts of the first 1 % of writers": n["posts of the first 1 % of writers"]
            / max(1, n["posts of all writers"]),
            "posts / writers": n["posts of all writers"] / max(1, n["writers"]),
        }
        for kind in ("question", "answer", "comment"):
            for what in ("linked", "marked", "edited", "without user", "with [text](url)"):
                if f"{kind} {what}" in n:
                    shares[f"{kind} {what}"] = n[f"{kind} {what}"] / max(1, n[f"{kind}s"])
        for name in ("AboutMe", "Location", "WebsiteUrl"):
            shares[f"user with {name}"] = n[f"user with {name}"] / max(1, n["users"])
        for name in ELEMENTS:
            shares[f"<{name}> / posts"] = n[f"<{name}>"] / posts
        for table in TABLES:
            shares[f"{table} bytes / posts"] = n[f"{table} bytes"] / max(1, n[f"{table} posts"])
        small = {
            name: histogram(self.lists[name])
            for name in ("answers a question", "comments a question", "comments an answer", "tags a question",
                         "people a thread")
        }  # fmt: skip
        quantities = {
            name: quantiles(self.lists[name])
            for name in ("question body characters", "answer body characters", "comment characters", "title characters",
                         "about characters", "question score", "answer score", "comment score")
        }  # fmt: skip
        follows = {
            said: [round(self.follows[said, who] / max(1, sum(self.follows[said, o] for o in ROLES)), 4)
                   for who in ROLES]
            for said in "-" + ROLES
        }  # fmt: skip
        votes = sum(self.vote_types.values())
        return {
            "shares": {name: round(share, 5) for name, share in shares.items()},
            "histograms": small,
            "quantiles": quantities,
            "follows": follows,
            "vote types": {kind: round(count / votes, 5) for kind, count in sorted(self.vote_types.items())},
        }


def person(row: dict[str, str], prefix: str) -> str:
    name = f"{prefix}UserId"
    if name in row:
        return row[name]
    return "~" + row[f"{prefix}DisplayName"] if f"{prefix}DisplayName" in row else "?" + row["Id"]


def rows(dump: Path, table: str) -> Iterator[dict[str, str]]:
    file = dump / f"{table}.xml"
    if file.exists():
        for _, element in ElementTree.iterparse(file):
            if element.tag == "row":
                yield dict(element.attrib)
            element.clear()


def histogram(values: Iterable[float], most: int = 24) -> list[float]:
    """The share of each whole number from 0; the last stands for all above."""
    counts = Counter(min(int(value), most) for value in values)
    total = max(1, counts.total())
    last = max(counts, default=0)
    return [round(counts[number] / total, 5) for number in range(last + 1)]


def quantiles(values: list[float]) -> list[float]:
    """The values at ``LEVELS``."""
    ordered = sorted(values)
    return [ordered[min(len(ordered) - 1, int(level * len(ordered)))] for level in LEVELS] if ordered else []


def profile_of(dumps: Iterable[Path]) -> dict[str, object]:
    """The profile of several dumps together."""
    counts = Counts()
    for dump in dumps:
        counts.read(dump)
    return counts.profile()


if __name__ == "__main__":
    print(json.dumps(profile_of(map(Path, sys.argv[1:])), indent=1))
