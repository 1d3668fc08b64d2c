"""Banked responses in the order of a ranker: within its time, told in the trace, and never at the cost of the turn."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tertulia.artefact import MANIFEST, Manifest, create, read_manifest, verify
from tertulia.bot.build import BotOptions, build_bot, copy_artefact
from tertulia.bot.components.matching import Matching
from tertulia.bot.explain import explain
from tertulia.bot.pipeline import Bot
from tertulia.bot.reranking import Reranking, unused_rerankers
from tertulia.bot.state import Exchange, State
from tertulia.bot.turn import Proposal, TurnInput
from tertulia.cli.main import main
from tertulia.cli.rerankers import open_reranker
from tertulia.errors import ArtefactError, ConfigurationError, InputError, TertuliaError
from tertulia.ranking.training import TrainingOptions, train_ranker
from tertulia.retrieval.matching import MatchingIndex
from tests.conftest import dialogue
from tests.ranking.sets import write_made_set

BANK = [
    dialogue("a", ["i collect trombones", "Where do you keep them all?"], "music"),
    dialogue("b", ["i collect trombones", "Short."], "music"),
    dialogue("c", ["i collect trombones and stamps", "Stamps at least fit into a drawer."], "music"),
]
MESSAGE = "i collect trombones"
SHORTEST_FIRST = ["Short.", "Where do you keep them all?", "Stamps at least fit into a drawer."]


class Short:
    """Prefers what is short; what it is asked and how it behaves is the test's."""

    name = "short"

    def __init__(self, behaviour: Callable[[Sequence[str]], Any] | None = None) -> None:
        self.asked: list[tuple[list[tuple[str, str]], list[str]]] = []
        self._behaviour = behaviour

    def rerank(self, turns: Sequence[tuple[str, str]], texts: Sequence[str]) -> Any:
        self.asked.append((list(turns), list(texts)))
        return [-len(text) for text in texts] if self._behaviour is None else self._behaviour(texts)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MatchingIndex]:
    with MatchingIndex.build(BANK, tmp_path_factory.mktemp("bank") / "bank") as opened:
        yield opened


def ask(
    index: MatchingIndex, reranker: Short, state: State | None = None, *, deadline_ms: float = 5000, **changes: Any
) -> Proposal:
    state = state or State("c")
    reranking = Reranking(reranker, deadline_ms)
    component = Matching(
        index, candidates=10, tolerance=0.01, topic_bonus=0.02, reranking=reranking, **changes.pop("options", {})
    )
    try:
        return component.propose(TurnInput(MESSAGE, state.previous, state, False, 0, **changes))
    finally:
        component.close()


def plain(index: MatchingIndex) -> list[Any]:
    component = Matching(index, candidates=10, tolerance=0.01, topic_bonus=0.02)
    return component.propose(TurnInput(MESSAGE, "", State("c"), False, 0)).candidates


def test_the_ranker_decides_over_the_order_and_over_nothing_else(index: MatchingIndex) -> None:
    before = {candidate.text: candidate for candidate in plain(index)}
    found = ask(index, Short())
    assert [candidate.text for candidate in found.candidates] == SHORTEST_FIRST
    assert list(before) != SHORTEST_FIRST
    assert found.note == "re-ranked by short"
    for candidate in found.candidates:
        same = before[candidate.text]
        assert (candidate.confidence, candidate.score, candidate.evidence) == (
            same.confidence,
            same.score,
            same.evidence,
        )
        assert candidate.rerank_score == -len(candidate.text)
        assert same.rerank_score is None


def test_it_is_asked_with_the_conversation_so_far(index: MatchingIndex) -> None:
    ranker = Short()
    state = State("c", [Exchange(f"message {number}", f"reply {number}") for number in range(15)])
    ask(index, ranker, state)
    [(turns, texts)] = ranker.asked
    assert turns[:2] == [("user", "message 5"), ("agent", "reply 5")]
    assert turns[-2:] == [("agent", "reply 14"), ("user", MESSAGE)]
    assert len(turns) == 21
    assert sorted(texts) == sorted(SHORTEST_FIRST)


def test_equal_scores_leave_the_order_as_it_was(index: MatchingIndex) -> None:
    found = ask(index, Short(lambda texts: [0.0] * len(texts)))
    assert [candidate.text for candidate in found.candidates] == [candidate.text for candidate in plain(index)]


def test_a_response_to_the_very_same_message_still_comes_first(index: MatchingIndex) -> None:
    longest_first = Short(lambda texts: [float(len(text)) for text in texts])
    found = ask(index, longest_first, options={"exact_confidence": 0.3})
    assert [candidate.text for candidate in found.candidates] == [
        "Where do you keep them all?",
        "Short.",
        "Stamps at least fit into a drawer.",
    ]


def breaks(_texts: Sequence[str]) -> Any:
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (breaks, "not re-ranked by short: ZeroDivisionError: division by zero"),
        (lambda texts: [1.0], "not re-ranked by short: it gave no finite score for each candidate"),
        (lambda texts: [float("nan")] * len(texts), "not re-ranked by short: it gave no finite score"),
        (lambda texts: [float("inf")] * len(texts), "not re-ranked by short: it gave no finite score"),
        (lambda texts: None, "not re-ranked by short: TypeError"),
        (lambda texts: ["x"] * len(texts), "not re-ranked by short: ValueError"),
    ],
)
def test_a_ranker_that_fails_leaves_the_order_of_the_matching_score(
    index: MatchingIndex, behaviour: Callable[[Sequence[str]], Any], said: str
) -> None:
    found = ask(index, Short(behaviour))
    assert found.candidates == plain(index)
    assert found.note.startswith(said)


def test_a_ranker_that_is_late_leaves_the_order_of_the_matching_score(index: MatchingIndex) -> None:
    release = threading.Event()
    ranker = Short(lambda texts: release.wait(20) and [])
    try:
        began = time.perf_counter()
        found = ask(index, ranker, deadline_ms=30)
        assert time.perf_counter() - began < 10
        assert found.candidates == plain(index)
        assert found.note == "not re-ranked by short: it took longer than 30 ms"
        # The component's own deadline comes first where it is the earlier one.
        found = ask(index, ranker, deadline_ms=60_000, ends=time.perf_counter() + 0.4)
        assert found.note.startswith("not re-ranked by short: it took longer than ")
        assert found.candidates == plain(index)
        asked = len(ranker.asked)
        found = ask(index, ranker, ends=time.perf_counter() + 0.01)
        assert found.note == "not re-ranked by short: no time was left"
        assert len(ranker.asked) == asked
    finally:
        release.set()


def test_a_ranker_that_hangs_is_not_asked_again_and_again(index: MatchingIndex) -> None:
    release = threading.Event()
    ranker = Short(lambda texts: release.wait(20) and [])
    reranking = Reranking(ranker, 50)
    state = State("c")
    turn = TurnInput(MESSAGE, "", state, False, 0)
    try:
        # On a busy machine a call may be given up before its thread has begun it; then it hangs nowhere.
        notes = [reranking.order(turn, plain(index))[1] for _ in range(20)]
        assert notes[-1] == "not re-ranked by short: 4 earlier calls have not ended"
        assert len(ranker.asked) <= 4
    finally:
        release.set()
        reranking.close()


def test_one_candidate_needs_no_ranker(index: MatchingIndex) -> None:
    ranker = Short()
    reranking = Reranking(ranker, 1000)
    one = plain(index)[:1]
    assert reranking.order(TurnInput(MESSAGE, "", State("c"), False, 0), one) == (one, "")
    assert reranking.order(TurnInput(MESSAGE, "", State("c"), False, 0), []) == ([], "")
    assert not ranker.asked


# In a bot


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ranker that prefers long responses."""
    folder = tmp_path_factory.mktemp("model")
    train_ranker("length", write_made_set(folder / "set"), folder / "length")
    return folder / "length"


@pytest.fixture(scope="module")
def bot(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bot that has the ranker inside."""
    path = tmp_path_factory.mktemp("bot") / "bot"
    build_bot(
        BANK, path, BotOptions(name="b", threshold=0.1), rerank=model, open_reranker=open_reranker, command=["test"]
    )
    return path


def edited(bot: Path, target: Path, *changes: tuple[str, str]) -> Path:
    """A copy of the bot whose ``bot.toml`` is changed."""
    subprocess.run(["cp", "-r", str(bot), str(target)], check=True)
    text = (target / "bot.toml").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (target / "bot.toml").write_text(text, encoding="utf-8")
    return target


def test_a_bot_has_its_ranker_inside(bot: Path, model: Path) -> None:
    manifest = verify(bot, "bot")
    assert manifest.parts["rerank"] == read_manifest(model).digest
    assert any(each.get("kind") == "ranker" for each in manifest.inputs)
    assert (bot / "bot.toml").read_text(encoding="utf-8").count('rerank = "rerank"\n') == 2
    opened = Bot(bot, open_reranker=open_reranker)
    try:
        turn, _ = opened.respond(State("c"), MESSAGE)
        step = next(step for step in turn.steps if step.component == "matching")
        assert step.reason == "re-ranked by length"
        scores = [candidate.rerank_score for candidate, _ in step.candidates]
        assert None not in scores
        assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]
        line = turn.to_json()
        assert [each["rerank_score"] for each in line["candidates"]] == scores
        shown = explain({**line, "trace": turn.trace()})
        assert "re-ranked by length" in shown
        assert f"R {scores[0]:.3f}" in shown
        # The log of a turn before there was re-ranking.
        old = json.loads(json.dumps(turn.trace()))
        for each in old["steps"]:
            for candidate in each["candidates"]:
                del candidate["rerank_score"]
        assert "  R " not in explain({**line, "trace": old})
    finally:
        opened.close()


def test_two_components_with_one_ranker_open_it_once_and_ask_it_once(bot: Path, tmp_path: Path) -> None:
    ranker = Short()
    opened: list[Path] = []

    def opens(path: Path, language: str) -> Short:
        opened.append(path)
        assert language == "en"
        return ranker

    path = edited(bot, tmp_path / "bot", ("threshold = 0.1\n", "threshold = 1.0\n"), ("exact_confidence = 0.2", ""))
    agent = Bot(path, open_reranker=opens)
    try:
        assert opened == [path / "rerank"]
        turn, _ = agent.respond(State("c"), f"{MESSAGE} too")
        first, second = (step for step in turn.steps if step.kind == "matching")
        assert (first.outcome, second.outcome) == ("below threshold", "replied")
        assert first.reason.endswith("; re-ranked by short")
        assert second.reason == "re-ranked by short"
        assert len(ranker.asked) == 1
    finally:
        agent.close()


def test_a_late_ranker_does_not_make_the_turn_late(bot: Path, tmp_path: Path) -> None:
    release = threading.Event()
    path = edited(bot, tmp_path / "bot", ('rerank = "rerank"', 'rerank = "rerank"\nrerank_deadline_ms = 40'))
    agent = Bot(path, open_reranker=lambda _path, _language: Short(lambda texts: release.wait(20) and []))
    try:
        turn, _ = agent.respond(State("c"), MESSAGE)
        assert turn.component == "matching"
        step = next(step for step in turn.steps if step.component == "matching")
        assert (step.outcome, step.reason) == ("replied", "not re-ranked by short: it took longer than 40 ms")
    finally:
        release.set()
        agent.close()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('"../outside"', "expected a path inside the bot's directory"),
        ('"missing"', "which is not there"),
        ('"bank"', "expected a ranker"),
        ('"rules"', "has no manifest.json"),
        ("7", "expected a text"),
        ('"rerank"\nrerank_deadline_ms = 0', "expected a number from 1"),
    ],
)
def test_what_does_not_hold_is_refused_on_load(bot: Path, tmp_path: Path, value: str, said: str) -> None:
    (tmp_path / "outside").mkdir()
    path = edited(bot, tmp_path / "bot", ('rerank = "rerank"', f"rerank = {value}"))
    with pytest.raises(TertuliaError) as refused:
        Bot(path, open_reranker=open_reranker)
    assert said in refused.value.one_line()


def test_a_ranker_outside_by_a_link_is_refused(bot: Path, model: Path, tmp_path: Path) -> None:
    path = edited(bot, tmp_path / "bot", ('rerank = "rerank"', 'rerank = "link"'))
    (path / "link").symlink_to(model)
    with pytest.raises(ConfigurationError, match=r"bot\.toml:\d+: .* inside the bot's directory"):
        Bot(path, open_reranker=open_reranker)


def test_a_bot_with_a_ranker_needs_who_opens_it(bot: Path) -> None:
    with pytest.raises(ConfigurationError, match="opens bots without rankers"):
        Bot(bot)
    looked_into = Bot(bot, open_reranker=unused_rerankers)
    assert looked_into.dialogue("a")["utterances"][0] == MESSAGE
    looked_into.close()


def test_a_damaged_ranker_is_refused(bot: Path, tmp_path: Path) -> None:
    path = edited(bot, tmp_path / "bot")
    file = next(file for file in sorted((path / "rerank").iterdir()) if file.name != MANIFEST)
    file.write_bytes(file.read_bytes()[:-1])
    for check_digests in (True, False):
        with pytest.raises(ArtefactError, match="its manifest says"):
            Bot(path, check_digests=check_digests, open_reranker=open_reranker)


def test_a_ranker_of_another_language_is_refused_before_the_bank_is_built(model: Path, tmp_path: Path) -> None:
    made = write_made_set(tmp_path / "set", language="segmented")
    train_ranker("length", made, tmp_path / "segmented")
    train_ranker("length", made, tmp_path / "zh", options=TrainingOptions(language="zh"))

    def untouched() -> Iterator[Any]:
        raise AssertionError("the bank was begun")
        yield

    for ranker, language, said in [
        (tmp_path / "zh", "en", "is a ranker of texts in the language 'zh'; the bot's is 'en'"),
        (model, "zh", "is a ranker of texts in the language 'en'; the bot's is 'zh'"),
        (tmp_path / "segmented", "zh", "in the language 'segmented'"),
        (tmp_path / "set", "en", "is a ranking-set; expected a ranker"),
    ]:
        with pytest.raises(ArtefactError, match=f"^{re.escape(str(ranker))}: .*{said}"):
            build_bot(
                untouched(),
                tmp_path / "bot",
                BotOptions(name="b", language=language),
                rerank=ranker,
                open_reranker=open_reranker,
            )
    with pytest.raises(InputError, match="there is nothing at this path"):
        build_bot(
            untouched(), tmp_path / "bot", BotOptions(name="b"), rerank=tmp_path / "none", open_reranker=open_reranker
        )
    assert not (tmp_path / "bot").exists()


def test_a_ranker_is_copied_with_its_parts_and_nothing_else(tmp_path: Path) -> None:
    with create(tmp_path / "one", Manifest("ranker")) as draft:
        (draft.directory / "trees").mkdir()
        (draft.directory / "trees" / "0.json").write_text("[]")
        (draft.directory / "members").mkdir()
        with create(draft.directory / "members" / "bm25", Manifest("ranker")) as part:
            (part.directory / "ranker.json").write_text("{}")
    (tmp_path / "one" / "notes.txt").write_text("not of it")
    (tmp_path / "one" / "members" / "link").symlink_to(tmp_path)
    copy_artefact(tmp_path / "one", tmp_path / "other")
    found = sorted(file.relative_to(tmp_path / "other").as_posix() for file in (tmp_path / "other").rglob("*"))
    assert found == [
        "manifest.json",
        "members",
        "members/bm25",
        "members/bm25/manifest.json",
        "members/bm25/ranker.json",
        "trees",
        "trees/0.json",
    ]
    assert verify(tmp_path / "other", "ranker").digest == read_manifest(tmp_path / "one").digest
    (tmp_path / "one" / "members" / "bm25" / "ranker.json").write_text("[]{}")
    with pytest.raises(ArtefactError, match="its manifest says"):
        copy_artefact(tmp_path / "one", tmp_path / "third")


def test_by_the_command_line(
    small_corpus: Path, model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bot, log = tmp_path / "bot", f"sqlite:///{tmp_path / 'log.sqlite'}"
    assert main(["bot", "build", str(small_corpus), "-o", str(bot), "--rerank", str(model)]) == 0
    # What lies beside a model without being of it does not come along.
    assert sorted(file.name for file in (bot / "rerank").iterdir()) == sorted(file.name for file in model.iterdir())
    capfd.readouterr()
    program = [sys.executable, "-m", "tertulia.cli.main", "chat", "--bot", bot, "--database", log, "--json"]
    said = subprocess.run(
        [*map(str, program), "--say", "what is your favourite film"],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONHASHSEED": "3"},
    )
    ranked = [each for each in json.loads(said.stdout)["candidates"] if each["component"] == "matching"]
    assert len(ranked) > 1
    assert [each["rerank_score"] for each in ranked] == [
        float(score) for score in sorted((each["rerank_score"] for each in ranked), reverse=True)
    ]
    assert main(["bot", "why", "last", "--database", log, "--bot", str(bot)]) == 0
    assert "re-ranked by length" in capfd.readouterr().out
    assert main(["inspect", str(bot)]) == 0
    assert "rerank/" in capfd.readouterr().out
