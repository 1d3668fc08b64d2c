"""Run files: what is written is read back to the last bit, and whatever is odd in a file is refused or counted by line."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.model import Turn
from tertulia.errors import ArtefactError, InputError, UsageError
from tertulia.ranking.docnos import docnos
from tertulia.ranking.examples import Example
from tertulia.ranking.runs import new_file, qid, read_run, write_run


def example(identifier: str, relevance: list[float]) -> Example:
    texts = tuple(f"reply {number}" for number in range(len(relevance)))
    return Example(
        identifier, (Turn(None, "prompt"),), texts, np.array(relevance, dtype=float), np.zeros(len(relevance))
    )


EXAMPLES = [example("tide", [1, 0, 0]), example("a sea", [0, 1]), example("moor", [0, 0, 1, 1])]
FULL = docnos("tide", 3)


def lines(tmp_path: Path, *text: str, name: str = "a.run") -> Path:
    path = tmp_path / name
    path.write_text("".join(line + "\n" for line in text), encoding="utf-8")
    return path


# Writing and reading


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.text(max_size=6),
            st.lists(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.just(float("nan"))), max_size=5),
        ),
        max_size=5,
        unique_by=lambda pair: pair[0],
    ),
    st.sampled_from(["x.run", "x.run.gz"]),
)
def test_what_is_written_is_read_back_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, contexts: list[tuple[str, list[float]]], name: str
) -> None:
    path = tmp_path_factory.mktemp("run") / name
    examples = [example(identifier, scores) for identifier, scores in contexts]
    counts = write_run(path, ((each, each.relevance) for each in examples), "mine")
    answered = {each.id: each.relevance for each in examples if not np.isnan(each.relevance).all() and len(each)}
    assert counts.contexts == len(examples)
    assert counts.lines == sum(int((~np.isnan(scores)).sum()) for scores in answered.values())
    if not answered:
        with pytest.raises(InputError, match="no line for any"):
            read_run(path, examples)
        return
    found = read_run(path, examples)
    assert found.tag == "mine"
    assert found.scores.keys() == answered.keys()
    for identifier, scores in answered.items():
        assert np.array_equal(found.scores[identifier], scores, equal_nan=True)
        # Also the sign of a zero.
        assert np.array_equal(np.signbit(found.scores[identifier]), np.signbit(scores))
    assert not found.report.skipped
    assert not found.report.noted


def test_lines_are_six_columns_in_order_of_rank(tmp_path: Path) -> None:
    write_run(tmp_path / "a.run", [(EXAMPLES[0], np.array([0.1, 1 / 3, -2e-300]))], "mine")
    assert (tmp_path / "a.run").read_text(encoding="utf-8").splitlines() == [
        f"tide Q0 {FULL[1]} 1 0.3333333333333333 mine",
        f"tide Q0 {FULL[0]} 2 0.1 mine",
        f"tide Q0 {FULL[2]} 3 -2e-300 mine",
    ]


def test_equal_scores_rank_as_trec_eval_ranks_them(tmp_path: Path) -> None:
    long = example("marsh", [0, 1, 0, 0, 1, 0, 0, 0])
    write_run(tmp_path / "a.run", [(long, np.array([0, 1, 1, 0, 1, 0, 0, 1.0]))], "mine")
    written = [line.split() for line in (tmp_path / "a.run").read_text(encoding="utf-8").splitlines()]
    evaluator = pytrec_eval.RelevanceEvaluator(
        {"marsh": {number: int(grade) for number, grade in zip(docnos("marsh", 8), long.relevance, strict=True)}},
        {"recip_rank", "map"},
    )
    with (tmp_path / "a.run").open(encoding="utf-8") as file:
        found = evaluator.evaluate(pytrec_eval.parse_run(file))["marsh"]
    hits = [long.relevance[docnos("marsh", 8).index(line[2])] for line in written]
    places = [number for number, hit in enumerate(hits, start=1) if hit]
    assert found["recip_rank"] == pytest.approx(1 / places[0])
    assert found["map"] == pytest.approx((1 / places[0] + 2 / places[1]) / 2)


def test_scores_that_trec_eval_cannot_tell_apart_are_counted(tmp_path: Path) -> None:
    close = np.array([1.0, 1.0 + 1e-12, 1e300])
    assert write_run(tmp_path / "a.run", [(EXAMPLES[0], close)], "mine").merged == 1
    assert write_run(tmp_path / "b.run", [(EXAMPLES[0], np.array([1.0, 1.0, 2.0]))], "mine").merged == 0


def test_the_same_scores_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        write_run(tmp_path / name, [(each, each.relevance / 3) for each in EXAMPLES], "mine")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()).startswith(b"tide Q0 ")


@pytest.mark.parametrize("tag", ["", "two words", "tab\tbed", "line\n"])
def test_a_tag_is_one_word(tmp_path: Path, tag: str) -> None:
    with pytest.raises(UsageError, match="without spaces"):
        write_run(tmp_path / "a.run", [], tag)
    assert not list(tmp_path.iterdir())


# The ids of contexts


@settings(deadline=None)
@given(st.text(max_size=8), st.text(max_size=8))
def test_ids_of_contexts_stay_apart_and_have_no_space(one: str, other: str) -> None:
    assert (qid(one) == qid(other)) == (one == other)
    assert len(qid(one).split()) == 1
    assert qid(one).encode("utf-8", "surrogatepass").split() == [qid(one).encode("utf-8", "surrogatepass")]


def test_ids_that_need_no_escape_stay_as_they_are() -> None:
    assert qid("t3_89x-4#2/é水") == "t3_89x-4#2/é水"
    assert qid("a b\u00a0c\n%") == "a%20b%C2%A0c%0A%25"
    assert qid("") == "%"


# Files of others


def test_a_candidate_goes_by_its_number_or_its_place(tmp_path: Path) -> None:
    path = lines(
        tmp_path, f"tide Q0 {FULL[2]} 1 5 theirs", "tide 0 0 2 4.5 theirs", "tide Q0 0000000001 3 -.5e1 theirs"
    )
    assert read_run(path, EXAMPLES).scores["tide"].tolist() == [4.5, -5, 5]


def test_what_is_not_answered_is_missing(tmp_path: Path) -> None:
    found = read_run(lines(tmp_path, "tide Q0 1 1 5 theirs"), EXAMPLES)
    assert list(found.scores) == ["tide"]
    assert np.isnan(found.scores["tide"]).tolist() == [True, False, True]


def test_an_id_is_known_written_either_way(tmp_path: Path) -> None:
    percent = [*EXAMPLES, example("50%", [1, 0])]
    found = read_run(lines(tmp_path, "a%20sea Q0 1 1 5 x", "50% Q0 0 1 5 x", "50%25 Q0 1 2 4 x"), percent)
    assert found.scores["a sea"][1] == 5
    assert found.scores["50%"].tolist() == [5, 4]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("tide Q0 1 1 5", "has 5 columns"),
        ("tide Q0 1 1 5 tag more", "has 7 columns"),
        ("a sea Q0 1 1 5 tag", "has 7 columns"),
        ("river Q0 1 1 5 tag", "names the context 'river', which the set does not have"),
        ("tide Q0 3 1 5 tag", "names the candidate '3' of the context 'tide', which has 3"),
        ("tide Q0 -1 1 5 tag", "the number is"),
        ("tide Q0 d7 1 5 tag", "names the candidate 'd7'"),
        ("tide Q0 99999999999999999999 1 5 tag", "which has 3"),
        ("tide Q0 00000000-0000000001 1 5 tag", f"the number is {FULL[1]}"),
        ("tide Q0 ١ 1 5 tag", "names the candidate"),
        ("tide Q0 0 1 5 tag", "again"),
        ("tide Q0 1 1 nan tag", "has the score 'nan'; expected a finite number"),
        ("tide Q0 1 1 inf tag", "has the score 'inf'"),
        ("tide Q0 1 1 1e999 tag", "has the score '1e999'"),
        ("tide Q0 1 1 1_0 tag", "has the score '1_0'"),
        ("tide Q0 1 1 0x10 tag", "has the score '0x10'"),
        ("tide Q0 1 1 ٣ tag", "has the score"),
        ("\x00\x01\x02", "has 1 columns"),
    ],
)
def test_a_line_that_does_not_hold_is_refused_with_its_number(tmp_path: Path, line: str, said: str) -> None:
    path = lines(tmp_path, "tide Q0 0 1 9 tag", line)
    with pytest.raises(InputError) as refused:
        read_run(path, EXAMPLES)
    assert refused.value.one_line().startswith(f"{path}:2: ")
    assert said in refused.value.one_line()
    assert "\n" not in refused.value.one_line()


def test_contexts_of_other_splits_are_passed_over_and_counted(tmp_path: Path) -> None:
    path = lines(tmp_path, "river Q0 0 1 9 tag", "tide Q0 0 1 9 tag", "a%20brook Q0 77 1 nan tag")
    found = read_run(path, EXAMPLES, others=["river", "a brook"])
    assert list(found.scores) == ["tide"]
    finding = found.report.skipped["lines for contexts of other splits"]
    assert (finding.count, finding.first) == (2, "a.run:1")
    with pytest.raises(InputError, match="only for those of other splits"):
        read_run(lines(tmp_path, "river Q0 0 1 9 tag", name="b.run"), EXAMPLES, others=["river"])


def test_what_is_odd_and_kept_is_noted(tmp_path: Path) -> None:
    path = lines(
        tmp_path, "tide Q0 0 1 1.0 tag", "", "tide Q0 1 2 7.0 tag", "tide Q0 2 last 0 another", "moor Q0 0 1 99 tag"
    )
    report = read_run(path, EXAMPLES).report.to_json()
    assert report == {
        "skipped": {"empty lines": {"count": 1, "first": "a.run:2"}},
        "noted": {
            "scores that are higher than at the rank before (the score counts, not the rank)": {
                "count": 1,
                "first": "a.run:3",
            },
            "lines of another tag than the first": {"count": 1, "first": "a.run:4"},
            "ranks that are no whole numbers (they do not count)": {"count": 1, "first": "a.run:4"},
        },
    }


def test_windows_lines_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"\xef\xbb\xbftide Q0 0 1 9 tag\r\ntide Q0 1 2 8 tag")
    found = read_run(path, EXAMPLES)
    assert found.tag == "tag"
    assert found.scores["tide"][:2].tolist() == [9, 8]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    whole = tmp_path / "whole.gz"
    write_run(whole, [(each, each.relevance) for each in EXAMPLES], "mine")
    cut = tmp_path / "cut.gz"
    cut.write_bytes(whole.read_bytes()[:-9])
    latin = tmp_path / "latin.run"
    latin.write_bytes(b"tide Q0 0 1 9 tag\nr\xe9\n")
    empty = tmp_path / "empty.run"
    empty.touch()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.run").write_text("tide Q0 0 1 9 tag\n")
    for path, said in [
        (cut, "cannot be read"),
        (latin, "latin.run:2: is not UTF-8"),
        (empty, "has no line for any of the contexts"),
        (folder, "is not one file"),
        (tmp_path / "none", "there is nothing at this path"),
    ]:
        with pytest.raises(InputError) as refused:
            read_run(path, EXAMPLES)
        assert said in refused.value.one_line()


@settings(deadline=None, max_examples=150)
@given(
    st.integers(0, 2**32), st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=3)), min_size=1, max_size=4)
)
def test_a_file_that_was_damaged_is_refused_in_one_line_or_read(
    tmp_path_factory: pytest.TempPathFactory, seed: int, changes: list[tuple[int, bytes]]
) -> None:
    path = tmp_path_factory.getbasetemp() / f"damaged.run{'.gz' if seed % 3 == 0 else ''}"
    random = np.random.default_rng(seed)
    write_run(path, [(each, random.random(len(each))) for each in EXAMPLES], "mine", overwrite=True)
    data = bytearray(path.read_bytes())
    for at, change in changes:
        at %= len(data) + 1
        data[at : at + (seed % 3)] = change
    path.write_bytes(bytes(data))
    said = None
    try:
        found = read_run(path, EXAMPLES)
    except InputError as refused:
        said = refused.one_line()
    if said is None:
        assert found.scores.keys() <= {each.id for each in EXAMPLES}
        assert not any(np.isinf(scores).any() for scores in found.scores.values())
    else:
        assert "\n" not in said
        assert said.startswith(str(path))


# The file that is written


def test_nothing_is_overwritten_and_nothing_half_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    write_run(path, [(EXAMPLES[0], EXAMPLES[0].relevance)], "old")
    with pytest.raises(ArtefactError, match="exists already"):
        write_run(path, [], "new")

    def breaks() -> object:
        yield EXAMPLES[0], EXAMPLES[0].relevance
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        write_run(path, breaks(), "new", overwrite=True)  # type: ignore[arg-type]
    assert path.read_text(encoding="utf-8").endswith("old\n")
    assert [file.name for file in tmp_path.iterdir()] == ["a.run"]
    write_run(path, [(EXAMPLES[1], EXAMPLES[1].relevance)], "new", overwrite=True)
    assert path.read_text(encoding="utf-8").startswith("a%20sea Q0 ")


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to(tmp_path / "nothing")
    (tmp_path / "plain").touch()
    for target in (tmp_path, tmp_path / "pipe", tmp_path / "nowhere", tmp_path / "plain" / "below"):
        with pytest.raises(ArtefactError), new_file(target, overwrite=True):
            pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nowhere", "pipe", "plain"]
