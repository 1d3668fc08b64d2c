import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tertulia.artefact import Manifest, create
from tertulia.bot.pipeline import Bot
from tertulia.bot.registry import COMPONENTS
from tertulia.bot.state import State
from tertulia.bot.turn import Candidate, DialogueEvidence, LineEvidence, Proposal, Step, TurnInput
from tests.bot import fakes
from tests.bot.fakes import BEHAVIOUR, dawdles, hangs, says

Make = Callable[..., Bot]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes a bot of fake components, one for each behaviour given, with a backup of two lines."""
    monkeypatch.setitem(COMPONENTS._shipped, "fake", "tests.bot.fakes:Fake")
    bots: list[Bot] = []
    fakes.RELEASE.clear()

    def build(*behaviours: Callable[[TurnInput], Any], threshold: float = 0.0, deadline_ms: int = 2000) -> Bot:
        parts = ""
        for number, behaviour in enumerate(behaviours):
            BEHAVIOUR[str(number)] = behaviour
            parts += (
                f'[[component]]\nkind="fake"\nbehaviour="{number}"\nthreshold={threshold}\ndeadline_ms={deadline_ms}\n'
            )
        path = tmp_path / f"bot-{len(bots)}"
        with create(path, Manifest("bot")) as draft:
            (draft.directory / "bot.toml").write_text(f'[bot]\nname="t"\n{parts}[[component]]\nkind="backup"\n')
            (draft.directory / "backup.txt").write_text("# lines\nFirst line.\nSecond line.\n")
        bots.append(Bot(path))
        return bots[-1]

    yield build
    fakes.RELEASE.set()
    BEHAVIOUR.clear()
    for bot in bots:
        bot.close()


def outcomes(steps: list[Step]) -> list[str]:
    return [step.outcome for step in steps]


def test_the_first_acceptable_candidate_is_said_and_the_rest_is_not_asked(make: Make) -> None:
    asked: list[str] = []

    def second(_turn: TurnInput) -> Proposal:
        asked.append("second")
        return Proposal()

    turn, state = make(says("hello"), second).respond(State("c"), "hi")
    assert (turn.reply, turn.component, turn.number) == ("hello", "fake", 1)
    assert outcomes(turn.steps) == ["replied", "not consulted", "not consulted"]
    assert turn.steps[1].reason == "fake answered before"
    assert not asked
    assert [(e.text, e.reply) for e in state.exchanges] == [("hi", "hello")]


def test_the_state_given_is_left_as_it_was(make: Make) -> None:
    before = State("c", variables={"fake": {"n": 1}})
    _, after = make(says("hello", variables={"n": 2})).respond(before, "hi")
    assert before == State("c", variables={"fake": {"n": 1}})
    assert after.variables["fake"] == {"n": 2}


def test_an_abstention_keeps_its_reason_and_the_next_is_asked(make: Make) -> None:
    turn, _ = make(lambda _: Proposal(reason="no idea"), says("an idea")).respond(State("c"), "hi")
    assert turn.reply == "an idea"
    assert (turn.steps[0].outcome, turn.steps[0].reason) == ("abstained", "no idea")


def test_candidates_below_the_threshold_are_kept_in_the_trace(make: Make) -> None:
    turn, _ = make(says("meh", "bah", confidence=0.4), threshold=0.5).respond(State("c"), "hi")
    assert turn.component == "backup"
    assert turn.steps[0].outcome == "below threshold"
    assert "0.40" in turn.steps[0].reason
    assert [verdict for _, verdict in turn.steps[0].candidates] == ["below threshold"] * 2


def test_an_offensive_candidate_is_traced_and_the_next_component_answers(make: Make) -> None:
    turn, _ = make(says("what a fucking mess"), says("what a mess")).respond(State("c"), "hi")
    assert turn.reply == "what a mess"
    assert turn.steps[0].outcome == "rejected"
    assert turn.steps[0].candidates[0][1] == "offensive"


def test_nothing_is_said_twice_nor_is_the_user_echoed(make: Make) -> None:
    bot = make(says("Hi there!", "Well, well."))
    first, state = bot.respond(State("c"), "hello")
    second, _ = bot.respond(state, "hello again")
    assert (first.reply, second.reply) == ("Hi there!", "Well, well.")
    assert [verdict for _, verdict in second.steps[0].candidates] == ["repeated", "said"]
    echo, _ = bot.respond(State("d"), "hi, there")
    assert echo.reply == "Well, well."


@pytest.mark.parametrize(
    ("behaviour", "outcome", "reason"),
    [
        (lambda _: 1 / 0, "failed", "ZeroDivisionError: division by zero"),
        (lambda _: "a string", "failed", "gave what is no proposal: a str"),
        (lambda _: None, "failed", "gave what is no proposal: a NoneType"),
        (lambda _: Proposal(["text"]), "failed", "gave what is no proposal: a candidate that is a str"),  # type: ignore[list-item]
        (says(""), "failed", "gave what is no proposal: a candidate without text"),
        (says("x", confidence=float("nan")), "failed", "gave what is no proposal: a confidence of nan"),
        (says("x", confidence=7), "failed", "gave what is no proposal: a confidence of 7"),
        (hangs, "late", "did not answer within 80 ms"),
        (dawdles, "late", "did not answer within 80 ms"),
    ],
)
def test_a_faulty_component_is_traced_and_passed_over(
    make: Make, behaviour: Callable[[TurnInput], Any], outcome: str, reason: str
) -> None:
    began = time.monotonic()
    bot = make(behaviour, deadline_ms=80)
    turn, _ = bot.respond(State("c"), "hi")
    assert time.monotonic() - began < 5
    assert turn.component == "backup"
    assert (turn.steps[0].outcome, turn.steps[0].reason) == (outcome, reason)


def test_a_component_that_hangs_for_ever_does_not_eat_the_machine(make: Make) -> None:
    bot = make(hangs, deadline_ms=5)
    before = threading.active_count()
    state = State("c")
    for number in range(40):
        turn, state = bot.respond(state, f"message {number}")
        assert turn.component == "backup"
    assert threading.active_count() - before < 25
    assert "was not asked" in turn.steps[0].reason


def test_backup_goes_on_when_every_line_has_been_said(make: Make) -> None:
    bot, state = make(), State("c")
    replies = []
    for number in range(6):
        turn, state = bot.respond(state, f"hm {number}")
        replies.append(turn.reply)
    assert set(replies) == {"First line.", "Second line."}
    # The line longest unsaid comes again, so the two alternate.
    assert replies[:2] == replies[2:4] == replies[4:]
    assert isinstance(turn.evidence, LineEvidence)
    assert (turn.evidence.file, turn.evidence.line) in {("backup.txt", 2), ("backup.txt", 3)}


def test_choices_by_chance_are_the_same_in_a_replay(make: Make) -> None:
    seeds: list[int] = []

    def note(turn: TurnInput) -> Proposal:
        seeds.append(turn.seed)
        return Proposal()

    bot = make(note)
    for conversation in ("a", "a", "b"):
        _, state = bot.respond(State(conversation), "hi")
        bot.respond(state, "hi again")
    assert seeds[0:2] == seeds[2:4]
    assert len(set(seeds)) == 4


def test_each_step_is_told_as_it_happens(make: Make) -> None:
    told: list[tuple[str, str]] = []
    make(lambda _: Proposal(reason="no"), says("yes")).respond(
        State("c"), "hi", on_step=lambda step: told.append((step.component, step.outcome))
    )
    assert told == [("fake", "abstained"), ("fake-2", "replied")]


def test_the_topic_drifts_with_two_replies_and_follows_a_wish_at_once(small_bot: Path) -> None:
    bot = Bot(small_bot)

    def after(state: State, topic: str, wish: str | None = None) -> State:
        evidence = DialogueEvidence("d", 1, topic, "x")
        said = Candidate("x", 1.0, evidence)
        return bot._after(state, "m", said, bot._parts[0], Proposal([said], topic=wish))

    state = after(State("c"), "films")
    assert state.topic == "films"
    state = after(state, "food")
    assert state.topic == "films"
    state = after(state, "food")
    assert state.topic == "food"
    assert after(state, "food", wish="travelling").topic == "travel"
    assert after(state, "food", wish="the gold standard").topic == "food"
    bot.close()


def test_the_trace_and_the_line_of_a_turn_are_plain_json(make: Make) -> None:
    turn, _ = make(says("hello", confidence=0.75)).respond(State("c"), "hi")
    line = turn.to_json()
    assert list(line) == [
        "turn", "text", "reply", "component", "confidence", "evidence", "topic", "candidates", "elapsed_ms",
    ]  # fmt: skip
    assert line["candidates"][0]["verdict"] == "said"
    trace = turn.trace()
    assert trace["steps"][0]["threshold"] == 0.0
    assert trace["steps"][1]["outcome"] == "not consulted"
