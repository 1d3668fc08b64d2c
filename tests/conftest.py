"""What all tests share: material made here, the place of the public data, a small bot."""

import os
import signal
from pathlib import Path

import pytest

from tertulia.artefact import Manifest
from tertulia.bot.build import BotOptions, build_bot
from tertulia.corpus.model import Dialogue, Record, Utterance
from tertulia.corpus.store import write_corpus

# Whoever runs the tests in the background of a shell has interrupts ignored, and programs that are started inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parent.parent


def dialogue(identifier: str, texts: list[str], domain: str | None = None) -> Dialogue:
    """A self-dialogue: two sides in turn."""
    return Dialogue(identifier, [Utterance(i, i, "AB"[i % 2], text) for i, text in enumerate(texts)], domain)


SMALL = [
    dialogue(
        "films-1",
        [
            "what is your favourite film",
            "Casablanca, for the last scene at the airport. And yours?",
            "i prefer comedies with bad weather",
            "Then Singin' in the Rain was made for you.",
        ],
        "films",
    ),
    dialogue(
        "films-2",
        [
            "have you seen the film about the whale",
            "Which whale? The white one has a bad temper.",
            "the one with captain ahab",
            "Gregory Peck hardly blinks in that one.",
        ],
        "films",
    ),
    dialogue(
        "food-1",
        [
            "i am hungry and there is only cabbage",
            "Slice it thin, fry it in butter, and add caraway seeds.",
            "caraway tastes like soap to me",
            "Mustard seeds then, and a squeeze of lemon.",
        ],
        "food",
    ),
    dialogue(
        "travel-1",
        [
            "where should i travel in october",
            "Lisbon, when the summer crowds have gone home.",
            "i was hoping for mountains",
            "Then the Tatras, with the larches turning gold.",
        ],
        "travel",
    ),
]


@pytest.fixture(scope="session")
def data() -> Path:
    """The public data, by ``TERTULIA_DATA`` or beside the repository; the test is skipped where it is absent."""
    path = Path(os.environ.get("TERTULIA_DATA", REPOSITORY.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"the public data is not at {path}; TERTULIA_DATA names its folder")
    return path


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of four short dialogues; read only."""
    path = tmp_path_factory.mktemp("corpus") / "small"
    write_corpus(path, (Record(d) for d in SMALL), Manifest("corpus"))
    return path


@pytest.fixture(scope="session")
def small_bot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bot over the four dialogues with the starter's rules and backup lines; read only."""
    path = tmp_path_factory.mktemp("bot") / "small"
    build_bot(
        SMALL,
        path,
        BotOptions(name="small", greeting="Hello from the small bot.", openers=["what is your favourite film"]),
    )
    return path
