"""One chunk of a generated dump: some questions with all that hangs on them, and as many users and votes as go with them.

A chunk depends on the plan and its number alone, so that workers make chunks in any order. Ids of a chunk follow those of the one
before with a gap, as in real dumps, from which posts have been deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from _dump_profile import FOLLOWS, HISTOGRAMS, SHARES, VOTE_TYPES
from _dump_text import Texts, quantities

Chunk = dict[str, bytes]

QUESTIONS = 250
ANSWERS = round(QUESTIONS * SHARES["answers / questions"])
POSTS = QUESTIONS + ANSWERS
USERS = round(POSTS * SHARES["users / posts"])
VOTES = round(POSTS * SHARES["votes / posts"])
WIKIS = round(POSTS * SHARES["tag wikis / posts"])
POST_IDS = 2 * POSTS
COMMENT_IDS = 4 * POSTS
VOTE_IDS = 2 * VOTES
CHUNK_BYTES = POSTS * sum(SHARES[f"{table} bytes / posts"] for table in ("Posts", "Comments", "Users", "Votes"))
# A user in so many writes; the first joined write most. Found by trial against "posts / writers" and "first 1 % of writers".
WRITER_STEP = 4
WRITER_POWER = 2.4
BEGIN = int(datetime(2010, 7, 1, tzinfo=UTC).timestamp() * 1000)
END = int(datetime(2024, 4, 1, tzinfo=UTC).timestamp() * 1000)
LICENCE_3 = int(datetime(2011, 4, 8, tzinfo=UTC).timestamp() * 1000)
LICENCE_4 = int(datetime(2018, 5, 2, tzinfo=UTC).timestamp() * 1000)
HOUR = 3_600_000
SEEKER, PROVIDER, OTHER = range(3)
SMALLEST_POOL, LARGEST_POOL = 2_000_000, 16_000_000


@dataclass(frozen=True)
class Plan:
    """What all chunks share: the seed, how many chunks the years are spread over, and whether revisions are made."""

    seed: int
    chunks: int
    history: bool = False


class Held(NamedTuple):
    """What a worker keeps from chunk to chunk."""

    plan: Plan
    texts: Texts


_held: list[Held] = []


def prepare(plan: Plan) -> None:
    """Makes the pools of text, once in a process; one that is forked has them already."""
    if not _held or _held[0].plan != plan:
        size = min(LARGEST_POOL, max(SMALLEST_POOL, int(plan.chunks * CHUNK_BYTES)))
        _held[:] = [Held(plan, Texts(plan.seed, size))]


def make_chunk(number: int) -> Chunk:
    """The lines of each table."""
    return _Maker(_held[0], number).make()


class _Maker:
    def __init__(self, held: Held, number: int) -> None:
        self.plan, self.texts = held
        self.number = number
        self.rng = np.random.default_rng([self.plan.seed, number])
        self.span = max(60_000, (END - BEGIN) // self.plan.chunks)
        self.begin = BEGIN + number * self.span
        self.history: list[str] = []

    def make(self) -> Chunk:
        self.threads()
        chunk = {"Posts": self.posts(), "Comments": self.comments(), "Users": self.users(), "Votes": self.votes()}
        if self.plan.history:
            chunk["PostHistory"] = self.history
        return {table: "".join(lines).encode() for table, lines in chunk.items()}

    def writers(self, count: int) -> np.ndarray:
        """Ids of users who write, the longest here the most."""
        known = max(1, (self.number + 1) * USERS // WRITER_STEP)
        return 1 + WRITER_STEP * (known * self.rng.random(count) ** WRITER_POWER).astype(np.int64)

    def threads(self) -> None:
        """Who asks and answers what and when; posts are numbered by their time."""
        rng = self.rng
        asked = np.sort(self.begin + rng.integers(0, self.span, QUESTIONS))
        counts = draw(HISTOGRAMS["answers a question"], rng, QUESTIONS)
        while (excess := int(counts.sum()) - ANSWERS) != 0:
            able = np.flatnonzero(counts > 0)
            chosen = rng.choice(able, min(abs(excess), len(able)), replace=False)
            counts[chosen] -= np.sign(excess)
        self.question_of = np.repeat(np.arange(QUESTIONS), counts)
        # Half within six hours. Later than the chunk ends none is: an answer stands near its question in the file.
        answered = asked[self.question_of] + np.exp(rng.normal(np.log(6 * HOUR), 2.2, ANSWERS)).astype(np.int64)
        self.last = self.begin + self.span - 1
        answered = np.minimum(answered, np.maximum(self.last, asked[self.question_of] + 60_000))
        self.created = np.concatenate([asked, answered])
        self.order = np.argsort(self.created, kind="stable")
        ids = np.sort(rng.choice(POST_IDS, POSTS + WIKIS, replace=False)) + 1 + self.number * POST_IDS
        self.wiki_ids = ids[POSTS:]
        self.ids = np.empty(POSTS, dtype=np.int64)
        self.ids[self.order] = ids[:POSTS]
        self.owner = self.writers(POSTS)
        askers = self.owner[:QUESTIONS][self.question_of]
        own = rng.random(ANSWERS) < SHARES["own answers / answers"]
        same = (self.owner[QUESTIONS:] == askers) & ~own
        self.owner[QUESTIONS:][same] += WRITER_STEP
        self.owner[QUESTIONS:][own] = askers[own]
        lost = [SHARES["question without user"]] * QUESTIONS + [SHARES["answer without user"]] * ANSWERS
        self.lost = rng.random(POSTS) < np.array(lost)
        wanted = SHARES["accepted / questions"] / (1 - HISTOGRAMS["answers a question"][0])
        nth = np.cumsum(counts) - counts + (rng.random(QUESTIONS) * counts).astype(np.int64)
        has_one = (rng.random(QUESTIONS) < wanted) & (counts > 0)
        self.accepted = np.where(has_one, self.ids[QUESTIONS + np.minimum(nth, ANSWERS - 1)], 0)
        self.answer_counts = counts

    def posts(self) -> list[str]:
        rng = self.rng
        lengths = self.by_kind("{} body characters")
        bodies = self.texts.bodies(rng, lengths, self.chosen("{} linked"), self.chosen("{} marked"))
        scores = self.by_kind("{} score").round().astype(np.int64).tolist()
        titles = self.texts.sentences.cut_runs(rng, quantities("title characters", rng, QUESTIONS) * 0.95)
        tag_counts = draw(HISTOGRAMS["tags a question"], rng, QUESTIONS).tolist()
        tags = (len(self.texts.tags) * rng.random((QUESTIONS, 6)) ** 3).astype(np.int64).tolist()
        is_edited = self.chosen("{} edited").tolist()
        closed = (rng.random(QUESTIONS) < SHARES["closed / questions"]).tolist()
        views = np.exp(rng.normal(6, 1.4, QUESTIONS)).astype(np.int64).tolist()
        times = stamps(self.created)
        later = stamps(self.created + np.exp(rng.normal(np.log(20 * HOUR), 2, POSTS)).astype(np.int64))
        licences = licences_of(self.created)
        owners = [
            owner("Owner", user, lost) for user, lost in zip(self.owner.tolist(), self.lost.tolist(), strict=True)
        ]
        ids, accepted = self.ids.tolist(), self.accepted.tolist()
        self.comment_counts = np.concatenate(
            [
                draw(HISTOGRAMS["comments a question"], rng, QUESTIONS),
                draw(HISTOGRAMS["comments an answer"], rng, ANSWERS),
            ]
        )
        comment_counts = self.comment_counts.tolist()
        parents = self.ids[self.question_of].tolist()
        lines = []
        for place in self.order.tolist():
            when, edited = times[place], is_edited[place]
            editor = f' LastEditorUserId="{self.owner[place]}" LastEditDate="{later[place]}"' if edited else ""
            common = (
                f'Body="{bodies[place]}" {owners[place]}{editor} LastActivityDate="{later[place] if edited else when}"'
            )
            end = f'CommentCount="{comment_counts[place]}" ContentLicense="{licences[place]}" />\r\n'
            if place >= QUESTIONS:
                lines.append(
                    f'  <row Id="{ids[place]}" PostTypeId="2" ParentId="{parents[place - QUESTIONS]}" '
                    f'CreationDate="{when}" Score="{scores[place]}" {common} {end}'
                )
                continue
            names = dict.fromkeys(self.texts.tags[tag] for tag in tags[place][: tag_counts[place]])
            lines.append(
                f'  <row Id="{ids[place]}" PostTypeId="1" '
                + (f'AcceptedAnswerId="{accepted[place]}" ' if accepted[place] else "")
                + f'CreationDate="{when}" Score="{scores[place]}" ViewCount="{views[place]}" {common} '
                f'Title="{titles[place].strip()}" Tags="{"".join(f"&lt;{name}&gt;" for name in names)}" '
                f'AnswerCount="{self.answer_counts[place]}" '
                + (f'ClosedDate="{later[place]}" ' if closed[place] else "")
                + end
            )
        if self.plan.history:
            for place in self.order.tolist():
                self.revise(ids[place], bodies[place], times[place], later[place] if is_edited[place] else None)
        at, terms = stamps(np.array([self.last]))[0], licences_of(np.array([self.last]))[0]
        texts = self.texts.sentences.runs(rng, np.full(WIKIS, 150))
        lines += [
            f'  <row Id="{wiki}" PostTypeId="{4 + place % 2}" CreationDate="{at}" Score="0" '
            f'Body="{texts[place] if place % 2 else ""}" OwnerUserId="-1" LastActivityDate="{at}" '
            f'CommentCount="0" ContentLicense="{terms}" />\r\n'
            for place, wiki in enumerate(self.wiki_ids.tolist())
        ]
        return lines

    def by_kind(self, name: str) -> np.ndarray:
        """Quantities of all posts, questions first."""
        found = (("question", QUESTIONS), ("answer", ANSWERS))
        return np.concatenate([quantities(name.format(kind), self.rng, count) for kind, count in found])

    def chosen(self, name: str) -> np.ndarray:
        """Which posts by chance have what so large a share of their kind has."""
        shares = np.repeat([SHARES[name.format("question")], SHARES[name.format("answer")]], [QUESTIONS, ANSWERS])
        return self.rng.random(POSTS) < shares

    def revise(self, post: int, body: str, made: str, edited: str | None) -> None:
        for kind, when in ((2, made), (5, edited)):
            if when is not None:
                number = self.number * 2 * POST_IDS + len(self.history) + 1
                self.history.append(
                    f'  <row Id="{number}" PostHistoryTypeId="{kind}" PostId="{post}" CreationDate="{when}" '
                    f'UserId="{self.owner[0]}" Text="{body}" />\r\n'
                )

    def comments(self) -> list[str]:
        rng = self.rng
        post_of = np.repeat(np.arange(POSTS), self.comment_counts)
        count = len(post_of)
        nth = np.arange(count) - np.repeat(np.cumsum(self.comment_counts) - self.comment_counts, self.comment_counts)
        roles = np.empty(count, dtype=np.int64)
        steps = {said: np.cumsum(FOLLOWS[said])[:2] for said in "-spo"}
        chances = rng.random(count).tolist()
        said = "-"
        for place, (turn, chance) in enumerate(zip(nth.tolist(), chances, strict=True)):
            step = steps["-" if turn == 0 else said]
            role = SEEKER if chance < step[0] else PROVIDER if chance < step[1] else OTHER
            roles[place] = role
            said = "spo"[role]
        is_answer = post_of >= QUESTIONS
        question_of = np.where(is_answer, self.question_of[np.maximum(post_of - QUESTIONS, 0)], post_of)
        # On a question the one who asked speaks as a provider does on an answer.
        user = np.where(roles == SEEKER, self.owner[question_of], self.owner[post_of])
        lost = np.where(roles == SEEKER, self.lost[question_of], self.lost[post_of])
        others = self.writers(count)
        again = (rng.random(count) < 0.45) & (nth > 0)  # the same third person comes back
        others[1:][again[1:]] = others[:-1][again[1:]]
        is_other = (roles == OTHER) | (~is_answer & (roles == SEEKER))
        user = np.where(is_other, others, user)
        lost = np.where(is_other, rng.random(count) < SHARES["comment without user"], lost)
        wait = np.exp(rng.normal(np.log(2 * HOUR), 2.0, count)).astype(np.int64) + 1000
        made = self.created[post_of] + np.cumsum(wait) - np.repeat(
            np.concatenate([[0], np.cumsum(wait)])[np.cumsum(self.comment_counts) - self.comment_counts],
            self.comment_counts,
        )  # fmt: skip
        order = np.argsort(made, kind="stable")
        ids = np.sort(rng.choice(max(COMMENT_IDS, 2 * count), count, replace=False)) + 1 + self.number * COMMENT_IDS
        by_seeker = (roles == SEEKER) & is_answer
        texts = self.texts.comments(rng, quantities("comment characters", rng, count), by_seeker)
        scores = np.maximum(0, np.floor(quantities("comment score", rng, count))).astype(np.int64).tolist()
        times, licences = stamps(made), licences_of(made)
        posts, users, losts = self.ids[post_of].tolist(), user.tolist(), lost.tolist()
        return [
            f'  <row Id="{number}" PostId="{posts[place]}" Score="{scores[place]}" Text="{texts[place]}" '
            f'CreationDate="{times[place]}" {owner("", users[place], losts[place])} '
            f'ContentLicense="{licences[place]}" />\r\n'
            for number, place in zip(ids.tolist(), order.tolist(), strict=True)
        ]

    def users(self) -> list[str]:
        rng, texts = self.rng, self.texts
        first = 1 + self.number * USERS
        joined = stamps(np.sort(self.begin + rng.integers(0, self.span, USERS)))
        seen = stamps(self.begin + rng.integers(0, self.span, USERS) + self.span)
        abouts = texts.bodies(
            rng, quantities("about characters", rng, USERS), rng.random(USERS) < 0.2, np.zeros(USERS, dtype=bool)
        )
        reputation = np.exp(rng.exponential(1.6, USERS)).astype(np.int64).tolist()
        up = rng.geometric(0.2, USERS).tolist()
        names = (len(texts.proper) * rng.random((USERS, 4))).astype(np.int64).tolist()
        addresses = rng.integers(0, len(texts.addresses), USERS).tolist()
        has = [
            (rng.random(USERS) < SHARES[f"user with {name}"]).tolist() for name in ("WebsiteUrl", "Location", "AboutMe")
        ]
        lines = []
        if self.number == 0:
            lines.append(
                f'  <row Id="-1" Reputation="1" CreationDate="{joined[0]}" DisplayName="Community" '
                f'LastAccessDate="{joined[0]}" Views="0" UpVotes="0" DownVotes="0" AccountId="-1" />\r\n'
            )
        for place in range(USERS):
            user = first + place
            words = [texts.proper[name] for name in names[place]]
            site = f'WebsiteUrl="{texts.addresses[addresses[place]]}" ' if has[0][place] else ""
            town = f'Location="{words[2]}, {words[3]}" ' if has[1][place] else ""
            about = f'AboutMe="{abouts[place]}" ' if has[2][place] else ""
            lines.append(
                f'  <row Id="{user}" Reputation="{reputation[place]}" CreationDate="{joined[place]}" '
                f'DisplayName="{words[0]} {words[1]}" LastAccessDate="{seen[place]}" {site}{town}{about}'
                f'Views="{up[place]}" UpVotes="{up[place]}" DownVotes="0" '
                f'ProfileImageUrl="https://i.images.example/{user:06x}.png?s=128" AccountId="{2 * user}" />\r\n'
            )
        return lines

    def votes(self) -> list[str]:
        rng = self.rng
        kinds = rng.choice(list(VOTE_TYPES), VOTES, p=np.array(list(VOTE_TYPES.values())) / sum(VOTE_TYPES.values()))
        on = (POSTS * rng.random(VOTES) ** 1.3).astype(np.int64)
        made = np.maximum(self.created[on], 0) + np.exp(rng.normal(np.log(24 * HOUR), 2, VOTES)).astype(np.int64)
        made.sort()
        days = np.datetime_as_string(made.astype("datetime64[ms]").astype("datetime64[D]")).tolist()
        ids = np.sort(rng.choice(VOTE_IDS, VOTES, replace=False)) + 1 + self.number * VOTE_IDS
        users = self.writers(VOTES).tolist()
        posts = self.ids[on].tolist()
        lines = []
        for number, post, kind, user, day in zip(ids.tolist(), posts, kinds.tolist(), users, days, strict=True):
            by = f' UserId="{user}"' if kind in (5, 8) else ""
            bounty = ' BountyAmount="50"' if kind in (8, 9) else ""
            lines.append(
                f'  <row Id="{number}" PostId="{post}" VoteTypeId="{kind}"{by} CreationDate="{day}T00:00:00.000"{bounty} />\r\n'
            )
        return lines


def draw(shares: list[float], rng: np.random.Generator, count: int) -> np.ndarray:
    """Whole numbers by their shares."""
    return np.searchsorted(np.cumsum(shares) / sum(shares), rng.random(count), side="right").clip(0, len(shares) - 1)


def stamps(times: np.ndarray) -> list[str]:
    """``2014-01-21T20:26:05.383`` of milliseconds."""
    return np.datetime_as_string(times.astype("datetime64[ms]")).tolist()


def licences_of(times: np.ndarray) -> list[str]:
    """The licence of what was written at each time."""
    return np.array(["CC BY-SA 2.5", "CC BY-SA 3.0", "CC BY-SA 4.0"])[
        (times >= LICENCE_3).astype(np.int64) + (times >= LICENCE_4)
    ].tolist()


def owner(prefix: str, user: int, lost: bool) -> str:
    """Deleted users leave their name alone."""
    if lost:
        return f'{prefix or "User"}DisplayName="user{user}"'
    return f'{prefix}UserId="{user}"'
