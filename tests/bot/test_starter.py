"""The starter's own material: how much there is, and that it is what it is said to be."""

from collections import Counter

from tertulia.bot.pipeline import Bot
from tertulia.bot.starter import STARTER, starter_bot, starter_dialogues
from tertulia.bot.state import State, fold


def test_there_are_conversations_enough_on_topics_enough() -> None:
    conversations = [d for d in starter_dialogues() if "-exchanges-" not in d.id]
    assert len(conversations) >= 300
    assert len({d.domain for d in conversations}) >= 10
    assert all(len(d.utterances) >= 10 for d in conversations)


def test_no_line_of_the_conversations_stands_twice_but_for_a_greeting_or_two() -> None:
    conversations = [d for d in starter_dialogues() if "-exchanges-" not in d.id]
    lines = Counter(fold(text) for d in conversations for text in d.texts)
    assert sum(count > 1 for count in lines.values()) <= 10
    openings = Counter(" ".join(fold(d.texts[0]).split()[:4]) for d in conversations)
    assert openings.most_common(1)[0][1] <= 20


def test_ids_and_sides_are_in_order() -> None:
    dialogues = starter_dialogues()
    assert len({d.id for d in dialogues}) == len(dialogues)
    for dialogue in dialogues:
        assert [u.speaker for u in dialogue.utterances] == ["AB"[i % 2] for i in range(len(dialogue.utterances))]
        assert all(u.text == u.text.strip() and u.text for u in dialogue.utterances)


def test_every_opener_gets_an_answer_that_is_no_backup_line() -> None:
    bot = Bot(starter_bot())
    for opener in STARTER.openers:
        turn, _ = bot.respond(State("c"), opener)
        assert turn.component != "backup", opener
    bot.close()
