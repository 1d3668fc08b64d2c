"""Duplicates, held against the comparison of every dialogue with every one before it."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.cleaning.clean import clean_records
from tertulia.corpus.cleaning.duplicates import Duplicates, jaccard, normalised_words, shingles
from tertulia.corpus.cleaning.plan import parse_plan
from tertulia.corpus.cleaning.report import CleaningReport
from tertulia.corpus.model import Record

from .makers import record

WORDS = [
    f"{first}{second}" for first in ("ka", "lo", "mi", "ne", "pu") for second in ("ra", "so", "ti", "ve", "zu", "gan")
]


def run_of(words: list[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + length]) for start in range(max(1, len(words) - length + 1))}


def plainly(records: Sequence[Record], threshold: float, length: int) -> dict[str, str]:
    """Each duplicate with the kept dialogue that it repeats best, by comparing all with all."""
    kept: list[tuple[str, list[str]]] = []
    found: dict[str, str] = {}
    for item in records:
        words = normalised_words(item.dialogue.texts)
        best: tuple[float, str] | None = None
        for other, other_words in kept:
            if not words or not other_words:
                continue
            if words == other_words:
                best = (2.0, other)
                break
            one, two = run_of(words, length), run_of(other_words, length)
            similarity = len(one & two) / len(one | two)
            if similarity >= threshold and threshold < 1 and (best is None or similarity > best[0]):
                best = (similarity, other)
        if best is None:
            kept.append((item.dialogue.id, words))
        else:
            found[item.dialogue.id] = best[1]
    return found


def found_by_filter(records: Sequence[Record], *settings_: str, language: str = "en") -> dict[str, str]:
    plan = parse_plan(["duplicates"], [f"duplicates.{text}" for text in settings_], language)
    marked = clean_records(records, plan, CleaningReport())
    return {note.dialogue_id: note.attributes["of"] for item in marked for note in item.annotations}


def made_up(seed: int, count: int) -> list[Record]:
    """Dialogues of which many are others with a word or two changed."""
    dice = random.Random(seed)
    records: list[Record] = []
    for number in range(count):
        if records and dice.random() < 0.5:
            words = " ".join(dice.choice(records).dialogue.texts).split()
            for _ in range(dice.choice([0, 1, 1, 2, 6])):
                words[dice.randrange(len(words))] = dice.choice(WORDS)
        else:
            words = [dice.choice(WORDS) for _ in range(dice.randint(5, 90))]
        half = len(words) // 2
        records.append(record(f"d{number:04d}", " ".join(words[:half]), " ".join(words[half:])))
    return records


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.95])
def test_it_finds_what_comparing_all_with_all_finds(threshold: float) -> None:
    records = made_up(7, 250)
    expected = plainly(records, threshold, 3)
    found = found_by_filter(records, f"threshold={threshold}")
    # MinHash may miss a pair near the threshold, and what then stays may be what a later one repeats.
    agreed = sum(found.get(name) is not None for name in expected)
    assert len(expected) > 25
    assert agreed >= 0.97 * len(expected)
    assert len(set(found) - set(expected)) <= 0.03 * len(expected)
    assert sum(found[name] == of for name, of in expected.items() if name in found) >= 0.95 * len(expected)


def test_the_same_input_gives_the_same_result() -> None:
    records = made_up(3, 120)
    assert found_by_filter(records) == found_by_filter(records)


def test_exact_duplicates_are_told_without_case_and_punctuation() -> None:
    records = [
        record("a", "Seen anything good?", "A film about a whale."),
        record("b", "seen anything GOOD", "a film about a whale!!"),
        record("c", "seen anything good a film about a whale"),
        record("d", "something else"),
    ]
    assert found_by_filter(records, "threshold=1") == {"b": "a", "c": "a"}


def test_dialogues_without_words_repeat_nothing() -> None:
    assert found_by_filter([record("a"), record("b"), record("c", "…"), record("d", "!!!")]) == {}


def test_chinese_is_compared_by_characters() -> None:
    long = "昨天我们在公园里散步的时候看见一只很大的白色的猫然后我们就回家吃饭了"
    records = [
        record("a", long),
        record("b", " ".join(long)),
        record("c", long.replace("白", "黑")),
        record("d", "你好"),
    ]
    assert found_by_filter(records, "threshold=0.7", language="zh") == {"b": "a", "c": "a"}


def test_a_dialogue_that_another_filter_drops_is_not_what_others_repeat() -> None:
    words = " ".join(WORDS)
    records = [record("a", words, "mail a@example.com"), record("b", words, "mail b"), record("c", words, "mail b")]
    report = CleaningReport()
    plan = parse_plan(["duplicates:drop", "personal:drop"], [], "en")
    assert [item.dialogue.id for item in clean_records(records, plan, report)] == ["b"]
    assert report.dropped == {"personal": 1, "duplicates": 1}


def test_the_value_is_the_true_similarity() -> None:
    words = [f"w{number}" for number in range(60)]
    records = [record("a", " ".join(words)), record("b", " ".join([*words[:-1], "other"]))]
    plan = parse_plan(["duplicates"], [], "en")
    (note,) = [note for item in clean_records(records, plan, CleaningReport()) for note in item.annotations]
    assert note.label == "near duplicate"
    assert note.value == pytest.approx(57 / 59, abs=1e-4)


def test_nothing_is_left_on_disk(tmp_path: Path) -> None:
    plan = parse_plan(["duplicates"], [], "en")
    list(clean_records(made_up(1, 20), plan, CleaningReport(), folder=tmp_path))
    assert list(tmp_path.iterdir()) == []
    stream = clean_records(made_up(1, 20), plan, CleaningReport(), folder=tmp_path)
    next(stream)
    assert len(list(tmp_path.iterdir())) == 1
    stream.close()  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []


def test_closing_twice_is_no_matter(tmp_path: Path) -> None:
    part = Duplicates("en")
    part.open(tmp_path)
    part.close()
    part.close()


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_ascii_is_taken_apart_as_all_other_text_is(text: str) -> None:
    plain = text.encode("ascii", errors="ignore").decode()
    assert [*normalised_words([plain]), "é"] == normalised_words([plain + " é"])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=12),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=12),
    st.integers(1, 4),
)
def test_similarity_is_jaccard_of_runs(one: list[str], other: list[str], length: int) -> None:
    first, second = shingles(one, length), shingles(other, length)
    assert len(first) == len(run_of(one, length))
    a, b = run_of(one, length), run_of(other, length)
    # Runs shorter than asked for are no parts of longer ones.
    assert jaccard(first, second) == pytest.approx(len(a & b) / len(a | b))
    assert first.dtype == np.uint32
