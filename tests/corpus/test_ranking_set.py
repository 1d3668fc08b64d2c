"""A ranking set on disk: what goes in comes out, sorted, one by one, in bounded memory."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.artefact import Manifest
from tertulia.corpus import grouped, sorting
from tertulia.corpus.model import Candidate, Context, RankingRecord, Rating, Turn
from tertulia.corpus.opening import open_collection
from tertulia.corpus.ranking_set import RankingSet, write_ranking_set
from tertulia.corpus.store import Corpus
from tertulia.errors import ArtefactError, InputError

from .test_tables import ATTRIBUTES, NAME, TEXT

RATINGS = st.lists(st.builds(Rating, TEXT, st.floats(allow_nan=False)), max_size=3)
TURNS = st.lists(st.builds(Turn, st.sampled_from([None, "user", "agent"]), TEXT), max_size=4)


@st.composite
def records(draw: st.DrawFn) -> RankingRecord:
    fields: dict[str, Any] = {name: draw(st.none() | TEXT) for name in ("dialogue_id", "domain", "split")}
    context = Context(draw(NAME), draw(TURNS), **fields, attributes=draw(ATTRIBUTES))
    count = draw(st.integers(0, 4))
    relevance = st.none() | st.floats(allow_nan=False)
    return RankingRecord(
        context,
        [
            Candidate(position, draw(TEXT), draw(relevance), draw(RATINGS), draw(st.none() | TEXT), draw(ATTRIBUTES))
            for position in range(count)
        ],
    )


SETS = st.lists(records(), max_size=6, unique_by=lambda record: record.context.id)


@settings(max_examples=40, deadline=None)
@given(made=SETS, rows=st.integers(1, 5), run=st.sampled_from([1, 2_000, 10**9]))
def test_any_set_comes_back_in_order_of_id(
    tmp_path_factory: pytest.TempPathFactory, made: list[RankingRecord], rows: int, run: int
) -> None:
    path = tmp_path_factory.mktemp("set") / "s"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouped, "_GROUP_ROWS", rows)
        patch.setattr(sorting, "_RUN_CHARACTERS", run)
        with write_ranking_set(path, made, Manifest("ranking-set")) as found:
            assert list(found.records()) == sorted(made, key=lambda record: record.context.id)
            assert len(found) == len(made)
            assert found.manifest.counts == {
                "contexts": len(made),
                "candidates": sum(len(record.candidates) for record in made),
            }
            for record in made:
                assert found.get(record.context.id) == record
            with pytest.raises(InputError, match="has no context"):
                found.get("not there, for sure")


def test_an_id_stands_once(tmp_path: Path) -> None:
    twice = [RankingRecord(Context("a", [])), RankingRecord(Context("a", []))]
    with pytest.raises(InputError, match="two contexts have the id 'a'; expected every id once"):
        write_ranking_set(tmp_path / "s", twice, Manifest("ranking-set"))
    assert list(tmp_path.iterdir()) == []


def test_what_stands_there_is_opened_as_what_it_is(tmp_path: Path, small_corpus: Path) -> None:
    write_ranking_set(tmp_path / "s", [], Manifest("ranking-set")).close()
    with open_collection(tmp_path / "s") as found:
        assert isinstance(found, RankingSet)
    with open_collection(small_corpus) as found:
        assert isinstance(found, Corpus)
    with pytest.raises(ArtefactError, match="is a corpus; expected a ranking-set"):
        RankingSet(small_corpus)
    with pytest.raises(InputError, match="there is nothing"):
        open_collection(tmp_path / "none")
