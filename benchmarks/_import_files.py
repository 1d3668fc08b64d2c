"""Files of each format for the import benchmark: made-up words by Zipf's law in the layout of the format, seeded."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterator
from itertools import accumulate, count
from pathlib import Path
from typing import IO, Any

SEED = 7
_SYLLABLES = ["ba", "der", "fi", "gon", "ha", "kel", "li", "mor", "na", "per", "ri", "so", "tan", "vu", "we", "é"]


class Talk:
    """Sentences and times of made-up people."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        words = {"".join(self.chance.choices(_SYLLABLES, k=1 + n // 4000)) for n in range(12_000)}
        self._words = sorted(words, key=lambda word: (len(word), word))
        self._weights = list(accumulate(1 / (n + 3) for n in range(len(self._words))))

    def sentence(self, mean: int = 14) -> str:
        length = max(1, int(self.chance.expovariate(1 / mean)))
        words = self.chance.choices(self._words, cum_weights=self._weights, k=length)
        return " ".join(words).capitalize() + self.chance.choice(".?!")

    def chinese(self) -> str:
        return "".join(
            chr(0x4E00 + int(self.chance.paretovariate(0.6)) % 3000) for _ in range(self.chance.randint(3, 14))
        )

    def turns(self, low: int = 4, high: int = 16) -> list[str]:
        return [self.sentence() for _ in range(self.chance.randint(low, high))]


def _until(size: int, stream: IO[str], parts: Iterator[str]) -> None:
    """Write parts until there are about ``size`` bytes."""
    written = 0
    for part in parts:
        written += stream.write(part)
        if written >= size:
            return


def _lines(path: Path, size: int, values: Iterator[Any]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        _until(size, stream, (json.dumps(value, ensure_ascii=False) + "\n" for value in values))


def _array(path: Path, size: int, values: Iterator[Any]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.write("[")
        _until(size, stream, ((",\n" if n else "\n") + json.dumps(value) for n, value in enumerate(values)))
        stream.write("\n]\n")


def jsonl(path: Path, size: int, talk: Talk) -> None:
    def dialogues() -> Iterator[Any]:
        for number in count():
            turns = talk.turns()
            notes = [
                {"layer": "rating", "annotator": f"r{n}", "position": 0, "value": 1.0 + n} for n in range(number % 3)
            ]
            yield {
                "id": f"d{number:08}",
                "domain": f"topic-{number % 20}",
                "utterances": [{"speaker": "AB"[n % 2], "text": text} for n, text in enumerate(turns)],
                "annotations": notes,
            }

    _lines(path, size, dialogues())


def chat_jsonl(path: Path, size: int, talk: Talk) -> None:
    def dialogues() -> Iterator[Any]:
        while True:
            yield {
                "messages": [
                    {"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(talk.turns())
                ]
            }

    _lines(path, size, dialogues())


def _convokit(path: Path, size: int, talk: Talk, scattered: bool) -> None:
    path.mkdir()
    metas: dict[str, Any] = {}
    lines: list[str] = []

    def utterances() -> Iterator[str]:
        for number in count():
            identifier, previous = f"t{number:08}", None
            metas[identifier] = {"meta": {"title": talk.sentence(5)}, "vectors": []}
            for n, text in enumerate(talk.turns()):
                yield (
                    json.dumps(
                        {
                            "id": f"{identifier}_{n}",
                            "conversation_id": identifier,
                            "text": text,
                            "speaker": f"user{talk.chance.randrange(2_000)}",
                            "meta": {"score": talk.chance.randrange(50), "top_level": n == 0},
                            "reply-to": previous,
                            "timestamp": 1_400_000_000 + number * 3_600 + n * 60,
                            "vectors": [],
                        }
                    )
                    + "\n"
                )
                previous = f"{identifier}_{n}"

    with (path / "utterances.jsonl").open("w", encoding="utf-8") as stream:
        if not scattered:
            _until(size, stream, utterances())
        else:
            for line in utterances():
                lines.append(line)
                size -= len(line)
                if size <= 0:
                    break
            talk.chance.shuffle(lines)
            stream.writelines(lines)
    speakers = {f"user{n}": {"meta": {"posts": n}, "vectors": []} for n in range(2_000)}
    index = {f"{kind}-index": {} for kind in ("conversations", "speakers", "overall")}
    kinds = {"score": ["<class 'int'>"], "top_level": ["<class 'bool'>"]}
    index |= {"utterances-index": kinds, "version": 1, "vectors": []}
    for name, value in (("conversations", metas), ("speakers", speakers), ("corpus", {}), ("index", index)):
        (path / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")


def convokit(path: Path, size: int, talk: Talk) -> None:
    _convokit(path, size, talk, scattered=False)


def convokit_scattered(path: Path, size: int, talk: Talk) -> None:
    _convokit(path, size, talk, scattered=True)


def ccpe(path: Path, size: int, talk: Talk) -> None:
    def utterance(index: int, text: str) -> dict[str, Any]:
        value: dict[str, Any] = {"index": index, "speaker": ("ASSISTANT", "USER")[index % 2], "text": text}
        words = text.split(" ")
        if index % 2 and len(words) > 2:
            start = len(words[0]) + 1
            kind = {"annotationType": "ENTITY_NAME", "entityType": "MOVIE_OR_SERIES"}
            end = start + len(words[1])
            value["segments"] = [{"startIndex": start, "endIndex": end, "text": words[1], "annotations": [kind]}]
        return value

    def dialogues() -> Iterator[Any]:
        for number in count():
            turns = [utterance(n, text) for n, text in enumerate(talk.turns(12, 30))]
            yield {"conversationId": f"c{number:07}", "utterances": turns}

    _array(path, size, dialogues())


def dialeval(path: Path, size: int, talk: Talk) -> None:
    labels = {
        "customer": ["CNUG0", "CNUG", "CNUG*", "CNaN"],
        "helpdesk": ["HNUG", "HNUG*", "HNaN"],
    }

    def dialogues() -> Iterator[Any]:
        for number in count():
            senders = [("customer", "helpdesk")[n % 2] for n in range(talk.chance.randint(2, 7))]
            turns = [
                {"sender": sender, "utterances": [talk.sentence() for _ in range(talk.chance.randint(1, 3))]}
                for sender in senders
            ]
            notes = [
                {
                    "nugget": [talk.chance.choice(labels[sender]) for sender in senders],
                    "quality": {quality: talk.chance.randint(-2, 2) for quality in "ASE"},
                }
                for _ in range(19)
            ]
            yield {"id": f"{number:010}", "turns": turns, "annotations": notes}

    _array(path, size, dialogues())


def mantis(path: Path, size: int, talk: Talk) -> None:
    def members() -> Iterator[str]:
        for number in count(1):
            turns = talk.turns(4, 8)
            time = f"2015-{1 + number % 12:02}-{1 + number % 28:02} 12:30:00"
            value = {
                "dialog_id": number,
                "category": f"site-{number % 14}",
                "title": talk.sentence(8),
                "dialog_time": time,
                "utterances": [
                    {
                        "actor_type": ("user", "agent")[n % 2],
                        "utterance_pos": n + 1,
                        "utterance": f"{text} {talk.sentence(40)}",
                        "votes": talk.chance.randrange(20),
                        "utterance_time": time,
                        "is_answer": n % 2,
                        "id": str(number * 10) if n < 2 else f"{number * 10 + 1}_{n}",
                    }
                    for n, text in enumerate(turns)
                ],
            }
            yield f'{"," if number > 1 else ""}\n"{number}": {json.dumps(value)}'

    with path.open("w", encoding="utf-8") as stream:
        stream.write("{")
        _until(size, stream, members())
        stream.write("\n}\n")


def self_dialogue(path: Path, size: int, talk: Talk) -> None:
    header = ["AssignmentId", "WorkerId", "AcceptTime", *(f"Answer.sentence{n}" for n in range(1, 11)), "Reject"]
    for topic in range(10):
        file = path / "corpus" / f"topic-{topic}" / "batch.csv"
        file.parent.mkdir(parents=True)
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
            writer.writerow(header)
            for number in count():
                if stream.tell() >= size // 10:
                    break
                answers = [talk.sentence() for _ in range(10)]
                time = "Wed Jun 21 11:19:15 PDT 2017"
                writer.writerow([f"{topic}A{number:07}", f"W{number % 300}", time, *answers, ""])
    (path / "blocked_workers.txt").write_text("", encoding="utf-8")


def ranking_tsv(path: Path, size: int, talk: Talk) -> None:
    def rows() -> Iterator[str]:
        while True:
            turns = "\t".join(talk.sentence(20) for _ in range(talk.chance.choice([1, 3, 5])))
            for candidate in range(11):
                yield f"{int(candidate == 0)}\t{turns}\t{talk.sentence(20)}\n"

    with path.open("w", encoding="utf-8") as stream:
        _until(size, stream, rows())


def rated_tsv(path: Path, size: int, talk: Talk) -> None:
    def rows() -> Iterator[str]:
        while True:
            prompt = talk.chinese()
            for _ in range(talk.chance.randint(1, 5)):
                yield f"{prompt}\t{talk.chinese()}\t{talk.chance.randint(2, 10) / 2}\n"

    with path.open("w", encoding="utf-8") as stream:
        _until(size // 2, stream, rows())


def xiaomi(path: Path, size: int, talk: Talk) -> None:
    def queries() -> Iterator[Any]:
        while True:
            replies = [
                {"reply": talk.chinese(), "like": talk.chance.randrange(50), "dislike": talk.chance.randrange(20)}
                for _ in range(talk.chance.randint(1, 8))
            ]
            yield {"query": talk.chinese(), "replys": replies}

    _lines(path, size // 2, queries())


MAKERS: dict[str, tuple[str, str, Callable[[Path, int, Talk], None]]] = {
    "jsonl": ("jsonl", "talks.jsonl", jsonl),
    "chat-jsonl": ("chat-jsonl", "chats.jsonl", chat_jsonl),
    "convokit": ("convokit", "convokit", convokit),
    "convokit, scattered": ("convokit", "convokit-scattered", convokit_scattered),
    "ccpe": ("ccpe", "ccpe.json", ccpe),
    "dialeval": ("dialeval", "dialeval.json", dialeval),
    "mantis": ("mantis", "mantis.json", mantis),
    "self-dialogue": ("self-dialogue", "self-dialogue", self_dialogue),
    "ranking-tsv": ("ranking-tsv", "data_train.tsv", ranking_tsv),
    "rated-tsv": ("rated-tsv", "rated.tsv", rated_tsv),
    "xiaomi": ("xiaomi", "queries.jsonl", xiaomi),
}
"""What is measured → the format, the name of the file or folder, and what makes it of about so many bytes."""


def make(what: str, folder: Path, size: int) -> Path:
    """The file or folder, made where it is not there yet; equal sizes give equal bytes."""
    _, name, maker = MAKERS[what]
    path = folder / name
    if not path.exists():
        maker(path, size, Talk(SEED))
    return path


def bytes_of(path: Path) -> int:
    """The bytes of a file, or of all files of a folder."""
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file())
