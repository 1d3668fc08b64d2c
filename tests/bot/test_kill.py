"""What the user saw answered is in the log, also when the process was killed the moment after."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tertulia.log.store import LogStore

TALK = """
import json, sys
from tertulia.bot.pipeline import Bot
from tertulia.bot.service import Conversations
from tertulia.log.store import LogStore

service = Conversations([Bot(sys.argv[1])], LogStore(sys.argv[2]))
identifier = service.start(channel="terminal")
print(json.dumps(identifier), flush=True)
for number in range(100000):
    turn = service.say(identifier, f"i am hungry for the {number}th time")
    print(json.dumps({"turn": turn.number, "reply": turn.reply}), flush=True)
"""


def test_no_turn_that_was_seen_is_lost_when_the_process_is_killed(small_bot: Path, tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'log.sqlite'}"
    delays = random.Random(11)
    for _ in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", TALK, str(small_bot), database], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            identifier = json.loads(process.stdout.readline())
            seen = [json.loads(process.stdout.readline())]
            time.sleep(delays.uniform(0.0, 0.3))
            process.send_signal(signal.SIGKILL)
            # A line cut short by the kill was not seen whole.
            seen += [json.loads(line) for line in process.stdout.read().splitlines() if line.endswith("}")]
        with LogStore(database, must_exist=True) as store:
            logged = {turn.number: turn.reply for turn in store.turns(identifier)}
        assert seen
        assert all(logged.get(turn["turn"]) == turn["reply"] for turn in seen)
        # At most the one turn whose answer was on its way is in the log unseen.
        assert len(logged) - len(seen) in {0, 1}
