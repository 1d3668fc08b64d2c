"""What a ranking set is, plainly: contexts and the pools that their negatives may come from, all in memory."""

import unicodedata
from dataclasses import dataclass

from tertulia.corpus.model import Dialogue, Turn
from tertulia.retrieval.tokenizer import EnglishTokenizer

from ..retrieval.bm25.definition import scores


@dataclass
class PlainContext:
    turns: list[Turn]
    response: str
    ranked: list[str]
    """Normal forms of the responses that share a word with the true one, the best first, at most as many as the pool."""
    others: set[str]
    """Normal forms of the responses that may be negatives and share no word."""


def normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def contexts(dialogues: list[Dialogue], same_domain: bool, pool: int) -> dict[str, PlainContext]:
    """The contexts by their ids."""
    found = {}
    for dialogue in dialogues:
        said = dialogue.utterances
        for index, utterance in enumerate(said):
            sides = [each.role for each in said[: index + 1]]
            if utterance.role != "agent" or sides.count("user") < 2 or sides.count("agent") < 2:
                continue
            turns = [Turn(each.role, each.text) for each in said[:index]]
            ranked, others = _pool(dialogues, dialogue, utterance.text, same_domain, pool)
            found[f"{dialogue.id}-{index}"] = PlainContext(turns, utterance.text, ranked, others)
    return found


def _thread(dialogue: Dialogue) -> str:
    return str(dialogue.attributes.get("thread", f"alone {dialogue.id}"))


def _pool(
    dialogues: list[Dialogue], own: Dialogue, response: str, same_domain: bool, pool: int
) -> tuple[list[str], set[str]]:
    inside = [each for each in dialogues if each.split == own.split and (each.domain == own.domain or not same_domain)]
    texts: dict[str, str] = {}
    for each in inside:
        for utterance in each.utterances:
            if utterance.role == "agent":
                texts.setdefault(normal(utterance.text), utterance.text)
    excluded = {
        normal(utterance.text)
        for each in inside
        if _thread(each) == _thread(own)
        for utterance in each.utterances
        if utterance.role == "agent"
    }
    names = list(texts)
    found = scores(list(texts.values()), response, EnglishTokenizer())
    order = sorted((-score, number) for number, score in enumerate(found) if score)
    ranked = [names[number] for _, number in order if names[number] not in excluded]
    return ranked[:pool], {name for name, score in zip(names, found, strict=True) if not score} - excluded
