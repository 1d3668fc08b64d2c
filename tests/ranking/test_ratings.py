"""Ratings of several people made one relevance: against a plain definition, and what does not hold."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.artefact import Manifest
from tertulia.corpus.exchange import Report
from tertulia.corpus.model import Candidate, Context, RankingRecord, Rating, Turn
from tertulia.corpus.ranking_set import RankingSet, write_ranking_set
from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tertulia.measures.agreement import krippendorff_alpha
from tertulia.ranking.ratings import RatingOptions, RatingsFilter, rate_ranking_set

Rated = list[list[list[float]]]


def record(identifier: str, ratings: list[list[float]], *, names: str = "abcdef") -> RankingRecord:
    candidates = [
        Candidate(place, f"reply {place}", 9.0, [Rating(n, v) for n, v in zip(names, values, strict=False)])
        for place, values in enumerate(ratings)
    ]
    return RankingRecord(Context(identifier, [Turn("user", f"prompt {identifier}")]), candidates)


def written(path: Path, ratings: Rated, **manifest: object) -> Path:
    records = [record(f"{number:03d}", each) for number, each in enumerate(ratings)]
    write_ranking_set(path, records, Manifest("ranking-set", **manifest)).close()  # type: ignore[arg-type]
    return path


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(st.lists(st.sampled_from([1.0, 2, 3, 4, 5]), max_size=4), max_size=4), max_size=5))
def test_the_filter_is_its_definition(ratings: Rated) -> None:
    report = Report()
    raters = RatingsFilter(RatingOptions(), report)
    expected, compared = [], []
    for number, each in enumerate(ratings):
        kept = [values for values in each if not values or max(values) - min(values) < 2]
        compared += [values for values in each if len(values) > 1]
        found = raters.take(record(str(number), each), "set")
        expected += [sum(values) / len(values) if values else 9.0 for values in kept]
        assert (found is None) == (not kept)
        if found is not None:
            assert [c.relevance for c in found.candidates] == [sum(v) / len(v) if v else 9.0 for v in kept]
            assert [c.position for c in found.candidates] == list(range(len(kept)))
            assert [[rating.value for rating in c.ratings] for c in found.candidates] == kept
    assert raters.candidates["read"] == sum(map(len, ratings))
    assert raters.candidates["kept"] == len(expected)
    assert raters.candidates["read"] == raters.candidates["kept"] + raters.candidates["dropped"]
    said = raters.agreement()
    after = [values for values in compared if max(values) - min(values) < 2]
    for stage, units in (("before", compared), ("after", after)):
        assert said[stage]["pairs"] == len(units)
        padded = [values + [math.nan] * (4 - len(values)) for values in units]
        alpha = krippendorff_alpha(list(zip(*padded, strict=True)), level="ordinal") if units else math.nan
        value = said[stage]["alpha"]["ordinal"]["value"]
        assert math.isnan(alpha) if value is None else value == pytest.approx(alpha)


def test_a_gap_of_one_rating_less_than_the_others_is_that_of_the_ends() -> None:
    raters = RatingsFilter(RatingOptions(), Report())
    found = raters.take(record("1", [[1, 2, 3], [2, 2, 3], [3, 4, 4, 3]]), "set")
    assert found is not None
    assert [candidate.text for candidate in found.candidates] == ["reply 1", "reply 2"]
    assert found.candidates[0].relevance == pytest.approx(7 / 3)


def test_the_gap_is_that_of_decimals_and_may_be_any_number() -> None:
    # 3.3 - 1.3 is a little less than 2 in floating point.
    assert RatingsFilter(RatingOptions(), Report()).take(record("1", [[3.3, 1.3]]), "set") is None
    for gap, kept in ((1, 1), (1.5, 2), (4, 3), (math.inf, 4)):
        raters = RatingsFilter(RatingOptions(gap), Report())
        found = raters.take(record("1", [[3, 3], [3, 4], [5, 2], [1, 5]]), "set")
        assert found is not None
        assert len(found.candidates) == kept


def test_the_order_of_two_raters_is_that_of_their_names() -> None:
    one, other = RatingsFilter(RatingOptions(), Report()), RatingsFilter(RatingOptions(), Report())
    swapped = record("1", [[1, 2], [4, 4], [2, 3]])
    for candidate in swapped.candidates:
        candidate.ratings.reverse()
    one.take(record("1", [[1, 2], [4, 4], [2, 3]]), "set")
    other.take(swapped, "set")
    assert one.agreement() == other.agreement()


def test_a_set_on_disk_becomes_another_with_what_was_found(tmp_path: Path) -> None:
    source = written(tmp_path / "two", [[[5, 4], [1, 4]], [[1, 5]], [[2, 2], [], [3]]], licence="CC BY 4.0")
    report = Report()
    told: list[int | None] = []
    found = rate_ranking_set(
        source, tmp_path / "rated", RatingOptions(), report, progress=lambda n, total: told.append(total)
    )
    assert found["counts"] == {"contexts": 2, "candidates": 4}
    assert found["contexts_dropped"] == 1
    assert found["candidates"] == {"read": 6, "kept": 4, "dropped": 2, "without_ratings": 1, "of_one_rater": 1}
    assert told == [3, 3, 3]
    with RankingSet(tmp_path / "rated", check_digests=True) as made:
        assert [c.relevance for r in made.records() for c in r.candidates] == [4.5, 2, 9, 3]
        assert made.manifest.details["agreement"] == found["agreement"]
        assert made.manifest.licence == "CC BY 4.0"
        assert made.manifest.inputs[0]["name"] == "two"
        assert made.manifest.report["skipped"]["contexts of which no candidate is left"]["first"] == "001"
    assert found["agreement"]["after"]["pairs"] == 2
    # The same again is the same, byte for byte.
    rate_ranking_set(source, tmp_path / "again", RatingOptions(), Report())
    for file in sorted((tmp_path / "rated").iterdir()):
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ([[1, 7]], "context 000, candidate 0: has the rating 7, which is not on the scale; expected one of 1, 2, 3, 4"),
        ([[1, 2], [2.5, 2]], "candidate 1: has the rating 2.5, which is not on the scale"),
        ([[math.nan, 2]], "has the rating nan; expected a finite number"),
        ([[1, math.inf]], "has the rating inf; expected a finite number"),
    ],
)
def test_ratings_that_do_not_hold_are_named_or_left_out(
    tmp_path: Path, ratings: list[list[float]], message: str
) -> None:
    good = [[1.0, 2.0], [4.0, 4.0]]
    source = written(tmp_path / "set", [ratings, good])
    scale = (1.0, 2.0, 3.0, 4.0)
    with pytest.raises(InputError) as caught:
        rate_ranking_set(source, tmp_path / "rated", RatingOptions(scale=scale), Report())
    assert f"{source}: " in str(caught.value)
    assert message in str(caught.value)
    assert not (tmp_path / "rated").exists()
    report = Report()
    found = rate_ranking_set(source, tmp_path / "rated", RatingOptions(scale=scale, skip_bad=True), report)
    assert report.skipped["malformed records"].count == 1
    assert message.partition(": ")[2] in str(report.skipped["malformed records"].first)
    assert found["counts"]["candidates"] == len(ratings) + 1


def test_one_person_rates_a_candidate_once(tmp_path: Path) -> None:
    raters = RatingsFilter(RatingOptions(), Report())
    with pytest.raises(InputError, match="is rated twice by 'a'"):
        raters.take(record("1", [[1, 2]], names="aa"), "set")


def test_a_set_without_ratings_and_an_empty_one_are_refused(tmp_path: Path) -> None:
    for number, ratings in enumerate(([[[], [3]]], [], [[]])):
        source = written(tmp_path / f"set{number}", ratings)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="no candidate with the ratings of two people"):
            rate_ranking_set(source, tmp_path / "rated", RatingOptions(), Report())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set0", "set1", "set2"]


def test_what_cannot_be_written_or_read(tmp_path: Path) -> None:
    source = written(tmp_path / "set", [[[1, 2]]])
    with pytest.raises(ArtefactError, match="is an input as well"):
        rate_ranking_set(source, source, RatingOptions(), Report(), overwrite=True)
    rate_ranking_set(source, tmp_path / "rated", RatingOptions(), Report())
    with pytest.raises(ArtefactError, match="exists already"):
        rate_ranking_set(source, tmp_path / "rated", RatingOptions(), Report())
    rate_ranking_set(source, tmp_path / "rated", RatingOptions(), Report(), overwrite=True)
    with pytest.raises(InputError, match="nothing at this path"):
        rate_ranking_set(tmp_path / "none", tmp_path / "new", RatingOptions(), Report())
    table = source / "candidates.parquet"
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(data)
    with pytest.raises(ArtefactError, match="digest"):
        rate_ranking_set(source, tmp_path / "new", RatingOptions(), Report())
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("gap", [0, -1, math.nan])
def test_a_gap_that_would_drop_everything_is_refused(gap: float) -> None:
    with pytest.raises(ConfigurationError, match="expected a number above 0"):
        RatingOptions(gap)


@pytest.mark.parametrize("scale", [(), (1.0,), (2.0, 1.0), (1.0, 1.0), (1.0, math.nan), (1.0, math.inf)])
def test_a_scale_is_two_grades_or_more_in_order(scale: tuple[float, ...]) -> None:
    with pytest.raises(ConfigurationError, match="two grades or more in ascending order"):
        RatingOptions(scale=scale)
