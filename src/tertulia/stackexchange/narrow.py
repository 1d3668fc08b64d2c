"""Narrowing: from the tables of whole dumps to the threads that can become dialogues, by relational expressions.

An answer to a question by another person is a candidate, with the comments on it. What the tables tell of it (all criteria but the
sentiment of its last word) is judged here for every candidate, on numbers and names alone; texts are fetched only for those
that are left. The expressions are written once, for Ibis, and an engine carries them out: joins and windows over integers and plain
strings, sums and the collecting of structs are all they use, so that every engine gives the same.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from tertulia.errors import InputError, StoreError
from tertulia.stackexchange.criteria import POSITIVE_ENDING, bit_of
from tertulia.stackexchange.engines import Engine

if TYPE_CHECKING:
    from ibis.expr.types import Table

__all__ = ["Narrowed", "SiteTables", "narrow"]

_QUESTION = 1
_ANSWER = 2
_SEEKER, _PROVIDER, _OTHER = 1, 2, 3
# What a thread holds of its question and its answer, by the names that the parsed tables have.
_QUESTION_FIELDS = ("created", "score", "user", "name", "title", "tags", "licence", "body")
_ANSWER_FIELDS = ("created", "score", "user", "name", "licence", "body")
_COMMENT_FIELDS = ("id", "created", "score", "user", "person", "name", "licence", "text")


class SiteTables(Protocol):
    """What narrowing wants to know of a dump: the domain that errors name, and which tables it has."""

    @property
    def domain(self) -> str:
        """The name of the site in the corpus."""
        ...

    @property
    def tables(self) -> Mapping[str, Any]:
        """The tables that the dump has, by name."""
        ...


@dataclass(frozen=True)
class Narrowed:
    """What was counted, and the threads that are left.

    ``answers`` are those whose question is there, ``orphans`` the others, ``own`` those by the asker of the question. ``masks``
    counts the candidates by the criteria that they meet (bit ``i``: criterion ``i`` of ``CRITERIA``, from 0 to 4, whether it is
    asked for or not) and by whether the seeker has the last word. ``threads`` are Parquet files, their rows in no order.
    """

    questions: int
    answers: int
    orphans: int
    candidates: int
    own: int
    masks: dict[tuple[int, bool], int]
    threads: list[Path]


class _Tables(NamedTuple):
    posts: Table
    comments: Table
    votes: Table
    users: Table
    history: Table


def narrow(
    tables: Mapping[str, Sequence[Path]],
    out: Path,
    *,
    criteria: Sequence[str],
    edited: Literal["marker", "history"],
    engine: Engine,
    sites: Sequence[SiteTables] = (),
    progress: Callable[[str], None] | None = None,
) -> Narrowed:
    """Find the candidates, judge them, and gather what is needed of those that may become dialogues.

    Parameters
    ----------
    tables:
        The parsed tables ``posts, comments, votes, users, history``: for each its Parquet files, at least one.
    out:
        A folder: the threads are written to ``threads`` in it; what was there of an earlier run is removed.
    criteria:
        The criteria that are asked for, of all six.
    edited:
        What counts as edited: a ``marker`` in a text, or the ``history`` of the question and the answer. A site without the table
        ``history`` is judged by the time of a post's last edit.
    engine:
        An open engine.
    sites:
        The dumps in the order of the column ``site``. Without them every site is taken to have a history.
    progress:
        Called with a short description when a step begins.

    Raises
    ------
    InputError
        A post, comment or user stands twice in a dump.
    StoreError
        The engine failed, or its files are not all to be seen from here.
    """
    say = progress or (lambda _: None)
    read = _Tables(*(engine.read(tables[name]) for name in _Tables._fields))
    work = out / "narrowing"
    threads = out / "threads"
    for folder in (work, threads):
        shutil.rmtree(folder, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        say("looking for ids that stand twice")
        for name in ("posts", "comments", "users"):
            _expect_once(getattr(read, name), name, engine, sites)
        say("pairing questions and answers")
        questions, answers = _count_posts(read.posts, engine)
        pairs = engine.read(engine.write(_pairs(read, edited, sites), work / "pairs"))
        say("following the comments")
        candidates = pairs.filter(pairs.seeker != pairs.provider).drop("question")
        spoken = engine.read(engine.write(_spoken(read.comments, candidates), work / "spoken"))
        talks = engine.read(engine.write(_talks(spoken), work / "talks"))
        say("judging the candidates")
        judged = engine.read(engine.write(_judged(pairs, talks, edited), work / "judged"))
        tally = _tally(judged, engine)
        paired = engine.execute(pairs.aggregate(pairs=pairs.count())).to_pylist()[0]["pairs"]
        candidates_found = sum(row["candidates"] for row in tally)
        wanted = sum(bit_of(name) for name in criteria if name != POSITIVE_ENDING)
        ending = POSITIVE_ENDING in criteria
        say("gathering the texts")
        files = _gather(read, judged, spoken, tally, _Wanted(wanted, ending), work, threads, engine)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Narrowed(
        questions=questions,
        answers=paired,
        orphans=answers - paired,
        candidates=candidates_found,
        own=paired - candidates_found,
        masks={(row["mask"], row["seeker_last"]): row["candidates"] for row in tally},
        threads=files,
    )


# ---------------------------------------------------------------------------------------------- what stands in the dump


def _expect_once(table: Table, name: str, engine: Engine, sites: Sequence[SiteTables]) -> None:
    """An id that stands twice would make two dialogues of one, so it is an error."""
    ids = table.select("site", "id")
    rows = engine.execute(ids.aggregate(rows=ids.count())).to_pylist()[0]["rows"]
    distinct = ids.distinct()
    if engine.execute(distinct.aggregate(rows=distinct.count())).to_pylist()[0]["rows"] == rows:
        return
    counted = ids.group_by("site", "id").aggregate(times=ids.count())
    twice = counted.filter(counted.times > 1)
    site = engine.execute(twice.aggregate(site=twice.site.min())).to_pylist()[0]["site"]
    there = twice.filter(twice.site == site)
    found = engine.execute(there.aggregate(ids=there.count(), first=there.id.min())).to_pylist()[0]
    where = sites[site].domain if site < len(sites) else None
    more = "" if found["ids"] == 1 else f", and {found['ids'] - 1:,} more ids stand in it more than once"
    raise InputError(
        f"the dump has two {name} with the id {found['first']}{more}; expected each id once",
        where=where,
        hint="a table may have been joined from two dumps; take one",
    )


def _count_posts(posts: Table, engine: Engine) -> tuple[int, int]:
    counted = posts.group_by("type").aggregate(posts=posts.count())
    found = {row["type"]: row["posts"] for row in engine.execute(counted).to_pylist()}
    return found.get(_QUESTION, 0), found.get(_ANSWER, 0)


# ---------------------------------------------------------------------------------------------- candidates and criteria


def _pairs(tables: _Tables, edited: str, sites: Sequence[SiteTables]) -> Table:
    """Answers with their question: ids, the two people, and what criteria ask of the two posts."""
    posts = _with_edited(_with_offensive(tables.posts, tables.votes), tables.history, edited, sites)
    questions = posts.filter(posts.type == _QUESTION).select(
        "site", question="id", seeker="person", question_offensive="offensive", question_edited="edited"
    )
    answers = posts.filter(posts.type == _ANSWER).select(
        "site",
        question="parent",
        answer="id",
        provider="person",
        linked="linked",
        offensive="offensive",
        edited="edited",
    )
    both = answers.join(questions, ["site", "question"])
    return both.select(
        "site",
        "question",
        "answer",
        "seeker",
        "provider",
        linked=both.linked.fill_null(False),
        offensive=both.offensive | both.question_offensive,
        edited=both.edited | both.question_edited,
    )


def _with_offensive(posts: Table, votes: Table) -> Table:
    """The columns of posts that matter, and whether a post has a vote as spam or offensive; other votes are not in the table."""
    flagged = votes.select("site", id="post").distinct().mutate(flagged=True)
    columns = ("site", "id", "type", "parent", "person", "linked", "marked", "edited_at")
    joined = posts.select(*columns).left_join(flagged, ["site", "id"])
    return joined.select(*columns, offensive=joined.flagged.notnull())


def _with_edited(posts: Table, history: Table, edited: str, sites: Sequence[SiteTables]) -> Table:
    if edited == "marker":
        return posts.mutate(edited=posts.marked.fill_null(False))
    events = history.select("site", id="post").distinct().mutate(event=True)
    joined = posts.left_join(events, ["site", "id"])
    by_history = joined.event.notnull()
    without = [index for index, site in enumerate(sites) if "history" not in site.tables]
    if without:
        by_history = joined.site.isin(without).ifelse(joined.edited_at.notnull(), by_history)
    return joined.select(*posts.columns, edited=by_history)


def _spoken(comments: Table, candidates: Table) -> Table:
    """Comments on the answers of candidates, without any text: their place, who speaks and who spoke before, and their flags."""
    import ibis

    columns = comments.select("site", "created", "id", "linked", "marked", "person", answer=comments.post)
    both = columns.join(candidates.select("site", "answer", "seeker", "provider"), ["site", "answer"])
    who = ibis.cases((both.person == both.seeker, _SEEKER), (both.person == both.provider, _PROVIDER), else_=_OTHER)
    coded = both.mutate(who=who.cast("int32"))
    order = ibis.window(group_by=["site", "answer"], order_by=["created", "id"])
    return coded.select(
        "site",
        "answer",
        "id",
        "who",
        # The answer stands before the first comment.
        before=coded.who.lag().over(order).fill_null(_PROVIDER),
        place=ibis.row_number().over(order) + 1,
        linked=coded.linked.fill_null(False),
        marked=coded.marked.fill_null(False),
    )


def _talks(spoken: Table) -> Table:
    """For each answer with comments what they tell: how often seeker and provider take the word, and where the seeker's last is.

    A comment takes the word iff the one before it is another person's.
    """
    return spoken.group_by("site", "answer").aggregate(
        comments=spoken.count(),
        others=spoken.count(where=spoken.who == _OTHER),
        seeker_turns=spoken.count(where=(spoken.who == _SEEKER) & (spoken.before != _SEEKER)),
        provider_turns=spoken.count(where=(spoken.who == _PROVIDER) & (spoken.before != _PROVIDER)),
        links=spoken.count(where=spoken.linked & (spoken.who == _PROVIDER)),
        marks=spoken.count(where=spoken.marked),
        # After this place all is the seeker's.
        last_other=(spoken.who != _SEEKER).ifelse(spoken.place, 0).max(),
    )


def _judged(pairs: Table, talks: Table, edited: str) -> Table:
    """Every candidate with the criteria that it meets, as a mask, and whether the seeker has the last word."""
    candidates = pairs.filter(pairs.seeker != pairs.provider)
    both = candidates.left_join(talks, ["site", "answer"])
    counted = both.select(
        *candidates.columns,
        **{
            name: both[name].fill_null(0)
            for name in ("comments", "others", "seeker_turns", "provider_turns", "links", "marks", "last_other")
        },
    )
    unedited = ~counted.edited
    if edited == "marker":
        unedited = unedited & (counted.marks == 0)
    # Question and answer are a turn of each already.
    met = {
        "two-users": counted.others == 0,
        "two-utterances-each": (counted.seeker_turns >= 1) & (counted.provider_turns >= 1),
        "grounded": counted.linked | (counted.links > 0),
        "not-offensive": ~counted.offensive,
        "not-edited": unedited,
    }
    mask = sum(condition.ifelse(bit_of(name), 0) for name, condition in met.items())
    return counted.select(
        "site",
        "question",
        "answer",
        "seeker",
        "provider",
        "comments",
        "last_other",
        mask=mask.cast("int32"),
        seeker_last=counted.comments > counted.last_other,
    )


def _tally(judged: Table, engine: Engine) -> list[dict[str, Any]]:
    """Candidates, and comments on them, by mask and by whether the seeker has the last word."""
    groups = judged.group_by("mask", "seeker_last").aggregate(
        candidates=judged.count(),
        comments=judged.comments.sum(),
        last_words=(judged.comments - judged.last_other).sum(),
    )
    rows: list[dict[str, Any]] = engine.execute(groups).to_pylist()
    return sorted(rows, key=lambda row: (row["mask"], row["seeker_last"]))


# ---------------------------------------------------------------------------------------------- texts of what is left


class _Wanted(NamedTuple):
    """Which candidates are gathered: those that meet all of ``mask``, and with ``ending`` those whose seeker has the last word."""

    mask: int
    ending: bool

    def survives(self, mask: int) -> bool:
        return mask & self.mask == self.mask


def _gather(
    tables: _Tables,
    judged: Table,
    spoken: Table,
    tally: Sequence[Mapping[str, Any]],
    wanted: _Wanted,
    work: Path,
    threads: Path,
    engine: Engine,
) -> list[Path]:
    """Write the threads: the chosen candidates with their comments, and the survivors among them with their posts.

    Texts are taken in shares, by the number of the question, so that the joins over them fit into memory whatever the dump's size.
    """
    surviving = [row["mask"] for row in tally if wanted.survives(row["mask"])]
    taken = [row for row in tally if row["mask"] in surviving or (wanted.ending and row["seeker_last"])]
    expected = sum(row["candidates"] for row in taken)
    texts = sum(
        row["comments"] + 2 * row["candidates"] if row["mask"] in surviving else row["last_words"] for row in taken
    )
    # An odd number, since a generator of ids may well leave every second out.
    shares = 1 if engine.share is None else 1 + 2 * (texts // engine.share // 2)

    def write(expression: Table, name: str) -> list[list[Path]]:
        if shares == 1:
            return [engine.write(expression.drop("share"), work / name)]
        return engine.write_shares(expression, work / name, "share", shares)

    chosen_files = write(_chosen(judged, surviving, wanted.ending, shares), "chosen")
    chosen = engine.read([file for files in chosen_files for file in files])
    post_files = write(_posts_of(tables.posts, chosen, shares), "posts")
    comment_files = write(_comments_of(tables.comments, spoken, chosen, shares), "comments")
    files: list[Path] = []
    for share, paths in enumerate(zip(chosen_files, post_files, comment_files, strict=True)):
        chosen, posts, comments = (engine.read(part) for part in paths)
        expression = _threads(chosen, posts, comments, tables.users)
        files += engine.write(expression, threads / f"{share:05d}")
        for part in paths:
            for path in part:
                path.unlink(missing_ok=True)
    _expect_rows(files, expected, threads)
    return files


def _share(question: Any, shares: int) -> Any:
    """The share of a question's thread: never negative, though ids may be."""
    return (((question % shares) + shares) % shares).cast("int32")


def _chosen(judged: Table, surviving: Sequence[int], ending: bool, shares: int) -> Table:
    import ibis

    survives = judged.mask.isin(surviving) if surviving else ibis.literal(False)
    marked = judged.mutate(survives=survives, share=_share(judged.question, shares)).drop("comments")
    return marked.filter(marked.survives | marked.seeker_last) if ending else marked.filter(marked.survives)


def _posts_of(posts: Table, chosen: Table, shares: int) -> Table:
    """The questions and answers of the survivors, whole."""
    survivors = chosen.filter(chosen.survives)
    wanted = survivors.select("site", id="question").union(survivors.select("site", id="answer"))
    kept = posts.drop("person", "linked", "marked", "edited_at").semi_join(wanted, ["site", "id"])
    question = (kept.type == _ANSWER).ifelse(kept.parent, kept.id)
    return kept.mutate(share=_share(question, shares)).drop("type", "parent")


def _comments_of(comments: Table, spoken: Table, chosen: Table, shares: int) -> Table:
    """The comments of the chosen candidates, whole: all of a survivor's, of the others what the seeker says last."""
    answers = chosen.select("site", "question", "answer", "survives", "last_other")
    places = spoken.select("site", "answer", "id", "place").join(answers, ["site", "answer"])
    wanted = places.filter(places.survives | (places.place > places.last_other)).select("site", "id", "question")
    both = comments.drop("linked", "marked").join(wanted, ["site", "id"])
    return both.select("site", "post", *_COMMENT_FIELDS, share=_share(both.question, shares))


def _threads(chosen: Table, posts: Table, comments: Table, users: Table) -> Table:
    """One row a chosen candidate; what is of the posts is there for survivors only."""
    import ibis

    named = users.select("site", user="id", known="name")
    of_users = comments.left_join(named, ["site", "user"])
    spoken = of_users.select(
        "site",
        answer="post",
        **{f: of_users[f] for f in _COMMENT_FIELDS if f != "name"},
        name=ibis.coalesce(of_users.known, of_users.name),
    )
    lists = spoken.group_by("site", "answer").aggregate(
        comments=ibis.struct({field: spoken[field] for field in _COMMENT_FIELDS}).collect()
    )
    questions = posts.select(
        "site",
        survivor_question="id",
        accepted="accepted",
        **{f"q_{field}": posts[field] for field in _QUESTION_FIELDS},
    )
    answers = posts.select("site", survivor_answer="id", **{f"a_{field}": posts[field] for field in _ANSWER_FIELDS})
    seekers = named.rename(q_user="user", seeker_known="known")
    providers = named.rename(a_user="user", provider_known="known")
    none = ibis.null("int64")
    rows = chosen.mutate(
        survivor_question=chosen.survives.ifelse(chosen.question, none),
        survivor_answer=chosen.survives.ifelse(chosen.answer, none),
    )
    columns = ["site", "question", "answer", "mask", "survives", "seeker_last", "seeker", "provider"]
    for other, keys, added in (
        (lists, ["site", "answer"], ["comments"]),
        (questions, ["site", "survivor_question"], ["accepted", *(f"q_{field}" for field in _QUESTION_FIELDS)]),
        (answers, ["site", "survivor_answer"], [f"a_{field}" for field in _ANSWER_FIELDS]),
        (seekers, ["site", "q_user"], ["seeker_known"]),
        (providers, ["site", "a_user"], ["provider_known"]),
    ):
        columns += added
        rows = rows.left_join(other, keys).select(*columns, *(["survivor_question", "survivor_answer"]))
    return rows.mutate(
        seeker_name=ibis.coalesce(rows.seeker_known, rows.q_name),
        provider_name=ibis.coalesce(rows.provider_known, rows.a_name),
    ).drop("survivor_question", "survivor_answer", "seeker_known", "provider_known")


def _expect_rows(files: Sequence[Path], expected: int, threads: Path) -> None:
    import pyarrow.parquet as pq

    found = sum(pq.read_metadata(path).num_rows for path in files)
    if found != expected:
        raise StoreError(
            f"holds {found:,} threads; expected the {expected:,} that were counted",
            where=threads,
            hint="on a cluster every worker must see the cache folder under the same path",
        )
