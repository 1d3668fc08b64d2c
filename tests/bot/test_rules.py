import json
import random
import re
import threading
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.bot.components.rules import OFFENSIVE_TRIGGER, Rules
from tertulia.bot.rivescript_engine import RuleEngine, required_words
from tertulia.bot.state import Exchange, State
from tertulia.bot.turn import LineEvidence, Proposal, TurnInput
from tertulia.errors import ConfigurationError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from rivescript import RiveScript

BRAIN = """
! version = 2.0
! array colours = red green sky\\sblue|pale yellow
! sub i'm = i am
! sub whats = what is

// greetings
+ (hello|hi|hey) [there]
- Hello!
- Hi there!
- Good to see you!

+ my name is *
- <set name=<formal>>Nice to meet you, <get name>!

+ what is my name
* <get name> == undefined => You never told me.
- You are <get name>.

+ let us talk about *
- <set talk=<star>>With pleasure: <star>.

+ knock knock
- Who is there?

+ *
% who is there
- <star> who?

+ [*] @colours [*]
- What a colour.

+ i have # cats
- <star> is a fine number of cats.

+ hi bot
@ hello

+ loop
@ loop

+ [*] (kill myself|end my life) [*]
- <set urgent=yes>Please talk to somebody. You are not alone.

+ tertulia offensive input
- Let's talk about something else.
- That is not how I like to talk.

+ say it twice
- Only this.

+ 你好
- 你好，请坐。

+ count
- <add n=1>That makes <get n>.

+ play a game
- {topic=game}Guess!

> topic game
    + stop
    - {topic=random}Done.

    + #
    - Wrong.
< topic
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("brain") / "rules"
    path.mkdir()
    (path / "brain.rive").write_text(BRAIN, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def rules(folder: Path) -> Rules:
    return Rules(folder)


def ask(rules: Rules, text: str, state: State | None = None, *, offensive: bool = False, seed: int = 0) -> Proposal:
    state = state or State("c")
    return rules.propose(TurnInput(text, state.previous, state, offensive, seed))


def talk(rules: Rules, *texts: str) -> list[str | None]:
    """A whole conversation: what the rules say to each text, with memory."""
    state, replies = State("c"), []
    for number, text in enumerate(texts):
        proposal = ask(rules, text, state, seed=number)
        reply = proposal.candidates[0].text if proposal.candidates else None
        replies.append(reply)
        variables = dict(state.variables)
        if proposal.variables is not None:
            variables["rules"] = proposal.variables
        # Memory must survive being stored as JSON.
        state = State(
            "c",
            [*state.exchanges, Exchange(text, reply or "(something else)")],
            None,
            json.loads(json.dumps(variables)),
        )
    return replies


def test_a_whole_message_that_matches_is_answered_with_its_place(rules: Rules) -> None:
    proposal = ask(rules, "Hello there!")
    candidate = proposal.candidates[0]
    assert candidate.text in {"Hello!", "Hi there!", "Good to see you!"}
    assert candidate.confidence == 1.0
    line = BRAIN.splitlines().index("+ (hello|hi|hey) [there]") + 1
    assert candidate.evidence == LineEvidence("rules/brain.rive", line, "(hello|hi|hey) [there]")


@pytest.mark.parametrize("text", ["hello my good friend of cats", "", "loop", "nothing like it", "*", "request"])
def test_anything_else_is_left_to_others(rules: Rules, text: str) -> None:
    proposal = ask(rules, text or " ")
    assert proposal.candidates == []
    assert proposal.reason


def test_the_users_variables_are_remembered_through_json(rules: Rules) -> None:
    assert talk(rules, "what's my name", "whats my name", "my name is ada lovelace", "what is my name?") == [
        None,
        "You never told me.",
        "Nice to meet you, Ada Lovelace!",
        "You are Ada Lovelace.",
    ]
    assert talk(rules, "count", "count", "hm", "count") == ["That makes 1.", "That makes 2.", None, "That makes 3."]


def test_conversations_do_not_share_memory(rules: Rules) -> None:
    talk(rules, "my name is ada")
    assert talk(rules, "what is my name") == ["You never told me."]


def test_what_was_said_before_counts_also_when_others_said_it(rules: Rules) -> None:
    assert talk(rules, "knock knock", "lettuce") == ["Who is there?", "lettuce who?"]
    state = State("c", [Exchange("x", "Who is there?")])
    proposal = ask(rules, "Boo", state)
    assert proposal.candidates[0].text == "boo who?"
    assert BRAIN.splitlines()[proposal.candidates[0].evidence.line - 1] == "+ *"  # type: ignore[union-attr]
    assert ask(rules, "Boo", State("c", [Exchange("x", "Well now.")])).candidates == []


def test_topics_of_the_talk_and_of_the_rules(rules: Rules) -> None:
    proposal = ask(rules, "let us talk about films")
    assert (proposal.topic, proposal.candidates[0].text) == ("films", "With pleasure: films.")
    assert proposal.variables is not None
    assert "talk" not in proposal.variables
    assert talk(rules, "play a game", "7", "hello", "stop", "hello")[:4] == ["Guess!", "Wrong.", None, "Done."]


def test_redirects_name_the_rule_that_speaks(rules: Rules) -> None:
    candidate = ask(rules, "hi bot").candidates[0]
    assert candidate.evidence.trigger == "(hello|hi|hey) [there]"  # type: ignore[union-attr]


def test_a_variant_not_yet_said_is_preferred(rules: Rules) -> None:
    replies = talk(rules, "hello", "hello", "hello")
    assert len(set(replies)) == 3
    assert talk(rules, "say it twice", "say it twice") == ["Only this.", "Only this."]


def test_the_same_seed_says_the_same(rules: Rules, folder: Path) -> None:
    other = Rules(folder)
    for seed in range(20):
        assert ask(rules, "hello", seed=seed).candidates == ask(other, "hello", seed=seed).candidates
    assert len({ask(rules, "hello", seed=seed).candidates[0].text for seed in range(20)}) == 3


def test_chance_outside_is_left_alone(rules: Rules) -> None:
    random.seed(5)
    expected = [random.random() for _ in range(3)]
    random.seed(5)
    ask(rules, "hello")
    assert [random.random() for _ in range(3)] == expected


def test_an_offensive_message_gets_the_reserved_reply_but_help_comes_first(rules: Rules) -> None:
    proposal = ask(rules, "hello you whatever", offensive=True)
    assert proposal.candidates[0].text in {"Let's talk about something else.", "That is not how I like to talk."}
    assert proposal.candidates[0].repeatable
    assert proposal.candidates[0].evidence.trigger == OFFENSIVE_TRIGGER  # type: ignore[union-attr]
    help_ = ask(rules, "i want to fing kill myself now", offensive=True).candidates[0]
    assert help_.text == "Please talk to somebody. You are not alone."
    assert help_.repeatable


def test_help_is_found_in_a_long_message(rules: Rules) -> None:
    text = "I had a long day. " * 60 + "I want to end my life. " + "It rained. " * 20
    assert ask(rules, text).candidates[0].text.startswith("Please talk to somebody")
    assert "longer than" in ask(rules, "I had a long day. " * 60).reason


def test_a_message_made_to_take_long_does_not(rules: Rules) -> None:
    import time

    for text in ("red " * 100, "a " * 200, "kill " * 80, "i have " * 57):
        began = time.process_time()
        ask(rules, text)
        assert time.process_time() - began < 5


def test_unicode_and_curly_apostrophes(rules: Rules) -> None:
    assert ask(rules, "你好").candidates[0].text == "你好，请坐。"
    state = State("c", variables={"rules": {"name": "Ada"}})
    assert ask(rules, "Whats my name?", state).candidates[0].text == "You are Ada."


def test_a_rule_whose_conditions_all_fail_has_nothing_to_say(tmp_path: Path) -> None:
    (tmp_path / "a.rive").write_text("+ am i rich\n* <get gold> == 1 => Yes.\n", encoding="utf-8")
    assert ask(Rules(tmp_path), "am i rich").candidates == []


@pytest.mark.parametrize(
    "text", ["hi - there", "“hi there”", "‘hi there’", "hi there \U0001f600", "hi there –", '"hi" there']
)
def test_dashes_quotes_and_pictures_do_not_stop_a_match(rules: Rules, text: str) -> None:
    assert ask(rules, text).candidates[0].evidence.trigger == "(hello|hi|hey) [there]"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "tag", ["{@say it twice}", "{topic=game}", "<set name=eve>", "{random}a|b{/random}", "<call>x</call>"]
)
def test_tags_in_a_message_are_text(rules: Rules, tag: str) -> None:
    proposal = ask(rules, f"my name is {tag}")
    assert proposal.variables is None or proposal.variables.get("topic") == "random"
    assert "Only this." not in str(proposal.candidates)
    state = State("c", [Exchange("x", f"Who is there? {tag}")])
    assert "Only this." not in str(ask(rules, "what is my name", state).candidates)
    said = proposal.candidates[0].text if proposal.candidates else ""
    assert not set("{}<>|") & set(said)


def test_control_characters_do_not_break_substitutions(rules: Rules) -> None:
    assert ask(rules, "i'm \x005\x00 you").candidates == []


def test_threads_share_the_rules(rules: Rules) -> None:
    wrong: list[str] = []

    def work(name: str) -> None:
        for _ in range(30):
            proposal = ask(rules, "what is my name", State("c", variables={"rules": {"name": name}}))
            if proposal.candidates[0].text != f"You are {name}.":
                wrong.append(proposal.candidates[0].text)

    threads = [threading.Thread(target=work, args=(f"N{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# -- the index in front of the interpreter changes nothing ---------------------------------------------------------------

_WORDS = ["hello", "hi", "you", "red", "blue", "what", "is", "name", "cats", "my", "i", "have", "5", "there", "the"]
_PIECES = [
    "*",
    "_",
    "#",
    "[*]",
    "[there]",
    "[my|the]",
    "(hello|hi)",
    "(what is|who)",
    "@colours",
    "(@colours)",
    *_WORDS,
]


@st.composite
def brains(draw: st.DrawFn) -> str:
    pieces = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=5).map(" ".join)
    triggers = draw(st.lists(pieces, min_size=1, max_size=12, unique=True))
    return "! array colours = red|blue|pale green\n\n" + "\n\n".join(
        f"+ {t}\n- reply {n}" for n, t in enumerate(triggers)
    )


@settings(max_examples=150, deadline=None)
@given(
    brains(),
    st.lists(st.lists(st.sampled_from([*_WORDS, "pale green", "x"]), max_size=6).map(" ".join), min_size=1, max_size=6),
)
def test_with_the_index_the_answers_are_those_of_the_interpreter_alone(
    tmp_path_factory: pytest.TempPathFactory, brain: str, messages: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "a.rive").write_text(brain, encoding="utf-8")
    engine = RuleEngine(folder)
    plain = RiveScript(utf8=True)
    plain.stream(brain)
    plain.sort_replies()
    for message in messages:
        plain.clear_uservars()
        expected = plain.reply("u", message)
        answer = engine.answer(message, {}, [], 0)
        assert (answer.text if answer else None) == (None if expected.startswith("[ERR") else expected)


@pytest.mark.parametrize(
    ("pattern", "clauses"),
    [
        ("what is your name", [["what"], ["your"], ["name"], ["is"]]),
        ("[*] cat [*]", [["cat"]]),
        ("(hello|hi there) you", [["you"], ["hello", "hi there"]]),
        ("(hello|*)", []),
        ("*", []),
        ("foo* (bar)", [["bar"]]),
        ("@colours", [["red", "green sea"]]),
        ("what's up", [["up"]]),
        ("(what's up|hi)", [["up", "hi"]]),
        ("((a b|c) d|e)", []),
        ("@nothing here", [["here"]]),
        ("<bot name> rules", [["rules"]]),
    ],
)
def test_required_words(pattern: str, clauses: list[list[str]]) -> None:
    found = required_words(pattern, {"colours": ["red", "sea\\sgreen"]})
    shown = [sorted(" ".join(sorted(words)) for words in clause) for clause in found]
    assert sorted(shown) == sorted(sorted(" ".join(sorted(a.split())) for a in clause) for clause in clauses)


# -- what is refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("+ hello\n- hi\n\n+ hello (there\n- hm\n", 4, "has a '(' that is never closed"),
        ("+ hello]\n- hi\n", 1, "has a ']' that closes nothing"),
        ("+ hello\n- hi\n\n? what\n", 4, "a line begins with '?'"),
        ("- hi\n", 1, "a reply stands before any trigger"),
        ("@ hi\n", 1, "a redirect stands before any trigger"),
        ("+ hello\n\n+ bye\n- bye\n", 1, "the trigger 'hello' has no reply"),
        ("+ hello\n", 1, "the trigger 'hello' has no reply"),
        ("+ hello\n- {random}a|b\n", 2, "has a {random} without its {/random}"),
        ("+ hello\n* <get x> == 1\n", 2, "has no =>"),
        ("+ Hello\n- hi\n", 1, "uppercase"),
        ("+ hello\n- hi\n+\n", 3, "holds '+' and nothing else"),
        ("> object x python\n  return 1\n< object\n", 1, "must not hold code"),
        ("+ hello\n- <call>x</call>\n", 2, "would run code"),
        ("> topic t\n+ a\n- b\n", 1, "has no end"),
        ("+ a\n- b\n< topic\n", 3, "ends no block"),
        ("> topic a\n> topic b\n", 2, "a block begins inside"),
        ("> cupboard\n", 1, "is no label"),
        ("+ a\n- b{topic=nowhere}\n", 2, "names a topic that no file has"),
        ("/* open\n+ a\n- b\n", 1, "never ends"),
        ("+ hello\n@ goodbye\n", 1, "which no trigger matches"),
        ("! nonsense\n+ a\n- b\n", 1, "Invalid format for !Definition"),
        ("+ a||b\n- c\n", 1, "Pipe"),
        ("+ a\n- b\n\n+ in [in #]\n- c\n", 4, "makes no pattern"),
        ("! sub 0 = zero\n+ a\n- b\n", 1, "a substitution of '0'"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    (tmp_path / "broken.rive").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=re.escape(message)) as caught:
        Rules(tmp_path)
    assert caught.value.where == f"{tmp_path / 'broken.rive'}:{line}"


def test_no_file_and_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"holds no \*\.rive file"):
        Rules(tmp_path)
    (tmp_path / "a.rive").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Rules(tmp_path)
