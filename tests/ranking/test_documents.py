"""Document sets: pages in the place of the responses that link to them."""

from pathlib import Path

import pytest

from tertulia.corpus.exchange import Report
from tertulia.corpus.model import Dialogue, Utterance
from tertulia.errors import ConfigurationError, InputError
from tertulia.ranking.documents import links_of

from .corpora import built, corpus_of, dialogue


class Pages:
    """Texts of pages by address; counts who asks."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts
        self.asked: list[str] = []

    def text_of(self, url: str) -> str | None:
        self.asked.append(url)
        return self.texts.get(url)


def at(name: str) -> str:
    return f"http://pages.example/{name}"


def threads(answers: dict[str, str]) -> list[Dialogue]:
    return [dialogue(name, ["question", "malt", "really", answer]) for name, answer in answers.items()]


def test_links_are_an_attribute_or_stand_in_the_text() -> None:
    text = "See http://A.example/x#top and (https://b.example/y), http://a.example/x"
    assert links_of(Utterance(0, 0, "a", text)) == ["http://a.example/x", "https://b.example/y"]
    given = Utterance(
        0, 0, "a", text, attributes={"links": ["https://c.example", 7, "ftp://d.example", "https://c.example/"]}
    )
    assert links_of(given) == ["https://c.example/"]
    assert links_of(Utterance(0, 0, "a", text, attributes={"links": []})) == []
    assert links_of(Utterance(0, 0, "a", "no link")) == []


def test_a_page_a_row_and_pages_of_drawn_responses(tmp_path: Path) -> None:
    pages = Pages({at(name): f"text of {name}" for name in "abcdef"} | {at("same"): "Text  of A", at("blank"): " \n"})
    corpus = corpus_of(
        tmp_path / "corpus",
        threads(
            {
                "d1": f"malt {at('a')} and {at('b')}",
                "d2": f"malt {at('c')} {at('nowhere')}",
                "d3": f"malt {at('same')} {at('d')}",
                "d4": f"malt {at('gone')} {at('blank')}",
                "d5": "malt without a page",
                "d6": f"hops {at('e')} {at('f')}",
            }
        ),
    )
    report = Report()
    found = {
        record.context.id: record.candidates
        for record in built(corpus, tmp_path / "set", report, target="documents", documents=pages, negatives=10)
    }
    assert sorted(found) == ["d1-3", "d2-3", "d3-3", "d6-3"]
    first = found["d1-3"]
    assert [(c.text, c.relevance, c.source) for c in first[:2]] == [
        ("text of a", 1.0, at("a")),
        ("text of b", 1.0, at("b")),
    ]
    # The page that equals one of its own but for case and space is none of its negatives.
    assert {c.source for c in first[2:]} == {at(name) for name in "cdef"}
    assert [c.relevance for c in first[2:]] == [0.0] * 4
    assert [c.position for c in first] == list(range(6))
    assert sum(c.source in (at("a"), at("same")) for c in found["d2-3"]) == 1
    skipped = report.skipped["contexts without a crawled page in the true response"]
    assert (skipped.count, skipped.first) == (2, "d4-3")
    assert len(pages.asked) == len(set(pages.asked))


def test_so_many_pages_as_negatives_were_asked_for(tmp_path: Path) -> None:
    texts = {at(f"{name}{i}"): f"{name} {i}" for name in "abcd" for i in range(5)}
    corpus = corpus_of(
        tmp_path / "corpus", threads({name: "malt " + " ".join(at(f"{name}{i}") for i in range(5)) for name in "abcd"})
    )
    for record in built(corpus, tmp_path / "set", target="documents", documents=Pages(texts), negatives=7):
        assert [candidate.relevance for candidate in record.candidates] == [1.0] * 5 + [0.0] * 7
        # Drawn responses give their pages in order.
        assert [str(candidate.source)[-1] for candidate in record.candidates] == list("012340123401")


def test_no_page_at_all(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", threads({"d1": f"malt {at('a')}"}))
    with pytest.raises(InputError, match="1 contexts without a crawled page"):
        built(corpus, tmp_path / "set", target="documents", documents=Pages({}))
    with pytest.raises(ConfigurationError, match="a crawl is named, and responses are the target"):
        built(corpus, tmp_path / "set", documents=Pages({}))
