"""Small records to clean."""

from tertulia.corpus.model import (
    Annotation,
    Candidate,
    Context,
    Dialogue,
    RankingRecord,
    Record,
    Role,
    Turn,
    Utterance,
)


def record(
    identifier: str,
    *texts: str,
    notes: tuple[Annotation, ...] = (),
    roles: tuple[Role | None, ...] = (),
    title: str | None = None,
) -> Record:
    utterances = [
        Utterance(place, place, "AB"[place % 2], text, role=roles[place] if roles else None)
        for place, text in enumerate(texts)
    ]
    return Record(Dialogue(identifier, utterances, title=title), list(notes))


def pair(identifier: str, prompt: str, *responses: str) -> RankingRecord:
    return RankingRecord(
        Context(identifier, [Turn(None, prompt)]),
        [Candidate(place, text, relevance=float(place)) for place, text in enumerate(responses)],
    )
