import pytest

from tertulia.bot.components.matching import Matching
from tertulia.bot.state import Exchange, State
from tertulia.bot.turn import Candidate, TurnInput
from tertulia.retrieval.matching import MatchingIndex
from tests.conftest import dialogue

BANK = [
    dialogue("a", ["do you sing", "not really", "Then hum, and let the kettle do the rest."], "music"),
    dialogue("b", ["is it not really about the violin", "It is about the violinist."], "music"),
    dialogue("c", ["i collect trombones", "Where do you keep them all?"], "music"),
    dialogue("d", ["i collect trombones", "Short."], "food"),
    dialogue("e", ["", "Nobody asked."], None),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> MatchingIndex:
    return MatchingIndex.build(BANK, tmp_path_factory.mktemp("bank") / "bank")


def ask(index: MatchingIndex, text: str, state: State | None = None, **options: float) -> list[Candidate]:
    component = Matching(index, candidates=10, tolerance=options.pop("tolerance", 0.01), topic_bonus=0.02, **options)
    state = state or State("c")
    return component.propose(TurnInput(text, state.previous, state, False, 0)).candidates


def test_the_confidence_is_the_score_up_to_one(index: MatchingIndex) -> None:
    for text in ("i collect trombones", "do you sing", "the violinist is really about"):
        for candidate in ask(index, text):
            assert candidate.score is not None
            assert candidate.confidence == min(1.0, candidate.score)


def test_among_equals_the_one_that_says_most_comes_first(index: MatchingIndex) -> None:
    assert [c.text for c in ask(index, "i collect trombones")] == ["Where do you keep them all?", "Short."]


def test_the_topic_of_the_talk_decides_between_equals(index: MatchingIndex) -> None:
    state = State("c", topic="food")
    assert ask(index, "i collect trombones", state)[0].text == "Short."
    assert ask(index, "i collect trombones", State("c", topic="no such topic"))[0].text == "Where do you keep them all?"


def test_what_the_bot_said_before_counts_a_little(index: MatchingIndex) -> None:
    plain = ask(index, "not really")[0]
    after = ask(index, "not really", State("c", [Exchange("x", "do you sing")]))[0]
    assert plain.text == after.text
    assert after.score > plain.score  # type: ignore[operator]


def test_the_very_same_message_is_trusted_only_where_that_is_asked_for(index: MatchingIndex) -> None:
    assert ask(index, "Not really!")[0].confidence < 0.2
    exact = ask(index, "Not really!", exact_confidence=0.2)
    assert exact[0].text == "Then hum, and let the kettle do the rest."
    assert exact[0].confidence == 0.2
    assert exact[0].score == ask(index, "not really")[0].score
    assert all(c.confidence == min(1.0, c.score or 0) for c in exact[1:])


def test_nothing_shared_is_a_reason_and_no_candidate(index: MatchingIndex) -> None:
    component = Matching(index, candidates=10, tolerance=0.01, topic_bonus=0.02)
    proposal = component.propose(TurnInput("qwerty", "", State("c"), False, 0))
    assert (proposal.candidates, proposal.reason) == ([], "no conversation of the bank shares a word with the message")


def test_two_components_of_one_turn_search_once(index: MatchingIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[str] = []
    search = MatchingIndex.search

    def counted(self: MatchingIndex, text: str, *more: object, **named: object) -> object:
        searches.append(text)
        return search(self, text, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(MatchingIndex, "search", counted)
    turn = TurnInput("do you sing", "", State("c"), False, 0)
    for exact in (0.0, 0.2):
        Matching(index, candidates=10, tolerance=0.01, topic_bonus=0.02, exact_confidence=exact).propose(turn)
    assert searches == ["do you sing"]
