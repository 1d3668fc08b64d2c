"""What ``append`` has returned from is in the log, however its process ends."""

import os
import random
import signal
import subprocess
import sys
import time

from tertulia.log.store import LogStore

from .conftest import environment, stored_turn

APPEND = """
import sys
from datetime import UTC, datetime
from tertulia.log.store import LogStore, StoredTurn
store = LogStore(sys.argv[1])
store.start(sys.argv[2], bot="small", bot_digest="", channel="terminal")
for number in range(1, 1_000_000):
    store.append(
        sys.argv[2],
        StoredTurn(number, datetime.now(UTC), f"question {number}", "answer " * 40, "matching", 0.5, None, 1.0, {}, {}, {}),
    )
    print(number, flush=True)
"""


def test_no_acknowledged_turn_is_lost_to_kill_9(database: str) -> None:
    chance = random.Random(7)
    acknowledged: dict[str, int] = {}
    for attempt in range(4):
        name = f"c{attempt}"
        process = subprocess.Popen(
            [sys.executable, "-c", APPEND, database, name], env=environment(), stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first == "1\n"
        time.sleep(chance.uniform(0.0, 0.4))
        os.kill(process.pid, signal.SIGKILL)
        printed = process.stdout.read().split("\n")
        process.wait()
        process.stdout.close()
        # The last line may be cut short by the kill; a whole one ends in a line break.
        acknowledged[name] = max([1, *(int(number) for number in printed[:-1])])
    with LogStore(database, must_exist=True) as store:
        for name, count in acknowledged.items():
            turns = store.turns(name)
            # One more than was printed may be there: kept, but killed before it was said.
            assert len(turns) in (count, count + 1)
            assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
            assert all(turn.text == f"question {turn.number}" for turn in turns)
        # The log goes on after it.
        store.append("c0", stored_turn(store.last_number("c0") + 1))
