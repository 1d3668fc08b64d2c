"""The topic of a conversation: what the user wishes for, and where the talk drifts."""

from __future__ import annotations

from collections.abc import Iterable

from tertulia.bot.state import fold

__all__ = ["TopicMap", "drift"]

# Words that people use for one another when they name a topic.
_SYNONYMS = (
    {"film", "films", "movie", "movies", "cinema", "motion pictures"},
    {"music", "song", "songs", "bands"},
    {"sport", "sports", "athletics"},
    {"football", "nfl football", "nfl", "american football"},
    {"book", "books", "reading", "literature", "novels"},
    {"food", "eating", "meals"},
    {"tv", "television", "tv shows", "shows", "series", "telly"},
    {"pet", "pets", "dogs", "cats", "animals"},
    {"trip", "travel", "travelling", "traveling", "holidays", "vacation"},
    {"game", "games", "gaming", "video games", "board games"},
    {"sci fi", "scifi", "science fiction", "sf"},
    {"coffee", "tea", "coffee and tea"},
    {"garden", "gardening", "plants"},
    {"tech", "technology", "computers", "gadgets"},
    {"ice hockey", "icehockey", "hockey"},
    {"hip hop", "rap", "rap hiphop", "rap hip hop"},
)


class TopicMap:
    """Finds the topic of a bank that a person's words for it mean."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.topics = sorted(set(topics))
        self._by_name = {fold(topic): topic for topic in self.topics}
        for synonyms in _SYNONYMS:
            present = sorted(synonyms & self._by_name.keys())
            for word in synonyms if present else ():
                self._by_name.setdefault(word, self._by_name[present[0]])

    def find(self, words: str) -> str | None:
        """The topic meant by these words, or ``None``: ``find("the movies")`` may be ``"films"``."""
        folded = fold(words)
        for name in (folded, folded.removeprefix("the "), folded.removesuffix("s"), f"{folded}s"):
            if name in self._by_name:
                return self._by_name[name]
        return None


def drift(current: str | None, earlier: str | None, said: str | None) -> str | None:
    """The topic after a reply from the topic ``said``, when the one before it came from ``earlier``.

    One reply from elsewhere is an aside; two in a row from the same place and the talk has moved there.
    """
    if said is None or said == current:
        return current
    return said if current is None or said == earlier else current
