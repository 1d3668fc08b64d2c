"""How long a turn takes: the whole pipeline over a bank, alone and with the log, from one and from several threads.

    python benchmarks/turn.py --bot bot --corpus sd
    python benchmarks/turn.py                        (the starter bot, its own lines as messages)

Messages are utterances of the corpus in an order by chance, twenty to a conversation. Times are wall time in milliseconds;
SQLite commits with synchronous=FULL, as in use.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path

from tertulia.bot.pipeline import Bot
from tertulia.bot.service import Conversations
from tertulia.bot.starter import starter_bot, starter_dialogues
from tertulia.bot.state import State
from tertulia.corpus.store import Corpus
from tertulia.errors import InputError
from tertulia.log.store import LogStore


def messages(corpus: Path | None, count: int, seed: int) -> list[str]:
    """Utterances by chance."""
    if corpus is None:
        texts = [text for dialogue in starter_dialogues() for text in dialogue.texts]
    else:
        with Corpus(corpus) as opened:
            texts = [text for dialogue in opened.dialogues() for text in dialogue.texts]
    return [text for text in random.Random(seed).choices(texts, k=count) if text.strip()]


def line(name: str, times: list[float], wall: float) -> str:
    ordered = sorted(times)
    p50, p99 = statistics.median(ordered), ordered[int(0.99 * (len(ordered) - 1))]
    return f"{name:<34}{len(times):>8}{p50:>10.2f}{p99:>10.2f}{ordered[-1]:>10.2f}{len(times) / wall:>12,.0f}"


def pipeline_alone(bot: Bot, texts: list[str]) -> str:
    times = []
    began = time.perf_counter()
    for start in range(0, len(texts), 20):
        state = State(f"bench-{start}")
        for text in texts[start : start + 20]:
            then = time.perf_counter()
            try:
                _, state = bot.respond(state, text)
            except InputError:
                continue
            times.append(1000 * (time.perf_counter() - then))
    return line("pipeline alone", times, time.perf_counter() - began)


def with_log(bot: Bot, texts: list[str], threads: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        service = Conversations([bot], LogStore(f"sqlite:///{folder}/log.sqlite"))
        times: list[float] = []

        def talk(own: list[str]) -> None:
            for start in range(0, len(own), 20):
                conversation = service.start(channel="benchmark")
                for text in own[start : start + 20]:
                    then = time.perf_counter()
                    try:
                        service.say(conversation, text)
                    except InputError:
                        continue
                    times.append(1000 * (time.perf_counter() - then))

        workers = [threading.Thread(target=talk, args=(texts[number::threads],)) for number in range(threads)]
        began = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return line(f"with the log, {threads} thread{'s' * (threads > 1)}", times, time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bot", type=Path, help="the bot; none: the starter bot")
    parser.add_argument("--corpus", type=Path, help="where messages come from; none: the starter's own lines")
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    then = time.perf_counter()
    bot = Bot(options.bot or starter_bot())
    print(f"loading the bot took {1000 * (time.perf_counter() - then):.0f} ms\n")
    texts = messages(options.corpus, options.turns, options.seed)
    print(f"{'':<34}{'turns':>8}{'p50 ms':>10}{'p99 ms':>10}{'max ms':>10}{'turns/s':>12}")
    print(pipeline_alone(bot, texts))
    for threads in (1, 2, 8):
        print(with_log(bot, texts, threads))


if __name__ == "__main__":
    main()
