"""What is learned of train, held against plain definitions; and that what is learned of an example never tells its label."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from tertulia.ranking.examples import Example
from tertulia.ranking.features.association import Association, Table
from tertulia.ranking.features.borrowed import is_binary, levels, without_borrowed
from tertulia.ranking.features.exchanges import exchanges
from tertulia.ranking.features.generality import Generality
from tertulia.ranking.features.grades import grades
from tertulia.ranking.features.language_model import LanguageModel
from tertulia.ranking.features.learned import LearnedPart, Read
from tertulia.ranking.features.lexicon import Lexicon
from tertulia.ranking.features.relative import relative
from tertulia.ranking.features.texts import Reader
from tertulia.ranking.features.worth import Worth
from tertulia.ranking.wording import Wording

from ..rankers.made import example, made_run, made_splits

PARTS = [Generality, LanguageModel, Association, Worth]
TRAIN = [
    example("1", ["how are you", "fine thanks"], ["good to hear", "no idea"], [5, 1]),
    example("2", ["is it far"], ["no idea", "it is far"], [4, 5]),
    example("3", ["who is she"], ["No idea !", "she is my aunt"], [3, 4]),
]


def read(examples, lexicon: Lexicon) -> list[Read]:
    reader = Reader(lexicon)
    return [Read(one, reader.conversation(one), [reader.text(text) for text in one.texts]) for one in examples]


def test_exchanges_are_told_once_with_their_largest_weight() -> None:
    again = example("4", ["how are you", "fine thanks", "so"], ["good to hear"], [5])
    pairs = exchanges([*TRAIN, again])
    told = dict(zip(zip(pairs.said, pairs.answered, strict=True), pairs.weights.tolist(), strict=True))
    assert told[("how are you", "fine thanks")] == 1.0
    assert told[("fine thanks", "good to hear")] == 1.0
    assert ("fine thanks", "no idea") not in told
    assert told[("who is she", "No idea !")] == 0.5
    assert exchanges(TRAIN, 2).said == ["how are you"]
    assert exchanges([]).said == []


def test_lift_as_defined() -> None:
    splits = made_splits(train=30)
    lexicon = Lexicon.of(splits.train, Wording("en"))
    pairs = exchanges(splits.train)
    table = Table.of(pairs, lexicon, 0)
    meet, said, answered = defaultdict(float), defaultdict(float), defaultdict(float)
    for one, other, weight in zip(pairs.said, pairs.answered, pairs.weights.tolist(), strict=True):
        for s in lexicon.numbers_of(one).tolist():
            said[s] += weight
            for a in lexicon.numbers_of(other).tolist():
                meet[s, a] += weight
        for a in lexicon.numbers_of(other).tolist():
            answered[a] += weight
    whole = float(pairs.weights.sum())
    prompt = lexicon.numbers_of(splits.test[0].prompt)
    wanted = lexicon.numbers_of(splits.test[0].texts[0])
    expected = []
    for a in wanted.tolist():
        base = (answered[a] + 0.5) / (whole + 1)
        each = [(meet[s, a] + 300 * base) / (said[s] + 300) for s in prompt.tolist() if said[s]]
        expected.append(math.log(sum(each) / len(each) / base))
    assert table.lift(prompt, wanted) == pytest.approx(expected, rel=1e-5)
    assert table.lift(np.zeros(0, dtype=np.int64), wanted).tolist() == [0.0] * len(wanted)


def test_probabilities_of_the_language_model_sum_to_one_and_are_as_defined() -> None:
    texts = ["a b a", "a b", "b c d a", "c d", "a"]
    examples = [example(str(n), "a b c d", [text, "d c b a"], [1, 0]) for n, text in enumerate(texts)]
    lexicon = Lexicon.of(examples, Wording("en"))
    model = LanguageModel.fit(examples, lexicon, made_run())
    vocabulary = [*lexicon.numbers, "unheard"]
    tri, bi, uni = Counter(), Counter(), Counter()
    for text in texts:
        words = ["<", "<", *(word if word in lexicon.numbers else "unheard" for word in text.split()), ">"]
        for x, y, z in zip(words, words[1:], words[2:], strict=False):
            tri[x, y, z] += 1
            bi[y, z] += 1
            uni[z] += 1

    def probability(x: str, y: str, z: str) -> float:
        p = (uni[z] + len(uni) / (len(lexicon.numbers) + 3)) / (uni.total() + len(uni))
        for counts, history in ((bi, (y,)), (tri, (x, y))):
            following = {key[-1]: count for key, count in counts.items() if key[:-1] == history}
            if following:
                p = (following.get(z, 0) + len(following) * p) / (sum(following.values()) + len(following))
        return p

    for response in ("a b", "unheard c", "", "d d d"):
        words = ["<", "<", *(word for word in response.split()), ">"]
        logs = [math.log(probability(*three)) for three in zip(words, words[1:], words[2:], strict=False)]
        told = model.columns(read([example("x", "a", [response])], lexicon), own=False)[0]
        assert told[0] == pytest.approx(np.mean(logs))
        assert told[1] == pytest.approx(min(logs))
    # Of all that can follow, the mark of a beginning cannot, but keeps its share of what is spread evenly.
    assert sum(probability("a", "b", z) for z in [*vocabulary, ">", "<"]) == pytest.approx(1.0)


def test_generality_counts_prompts_and_leaves_an_own_example_out() -> None:
    lexicon = Lexicon.of(TRAIN, Wording("en"))
    part = Generality.fit(TRAIN, lexicon, made_run())
    names = list(part.features)
    new = part.columns(read([example("x", "what now", ["no idea", "never heard"])], lexicon), own=False)
    # "no idea" is good enough twice: with 4 of 5, and with 3, the middle of the scale.
    assert np.expm1(new[0, names.index("prompts_answered")]) == pytest.approx(2)
    assert np.expm1(new[0, names.index("contexts_seen")]) == pytest.approx(3)
    assert np.expm1(new[0, names.index("opening")]) == pytest.approx(2)
    words = Counter(["is", "it", "far", "who", "is", "she"])
    entropy = -sum(count / 6 * math.log(count / 6) for count in words.values())
    assert new[0, names.index("prompt_spread")] == pytest.approx(entropy)
    assert new[1].tolist() == [0.0] * 4
    own = part.columns(read(TRAIN, lexicon), own=True)
    # Of the bad answer nothing is taken; of the good ones their own context.
    assert np.expm1(own[1, 0]) == pytest.approx(2)
    assert np.expm1(own[2, 0]) == pytest.approx(1)
    assert np.expm1(own[:, 2]).round().tolist() == [0, 2, 2, 0, 2, 0]


def borrowed_set(count: int = 60) -> list[list[Example]]:
    """Dialogues of a binary set in which no text says more than another, two contexts each.

    As ``ranking build`` makes them: negatives are the true responses of other dialogues, and stand there as turns too.
    """
    texts = [f"w{n} w{(n * 7) % count} w{(n * 13) % count}" for n in range(count)]
    found = []
    for n in range(count):
        prompt, own = f"p{n} p{(n * 5) % count}", [texts[(n + k) % count] for k in range(6)]
        later = [f"v{n} v{(n * 7) % count}", *own[1:]]
        found.append(
            [
                example(f"d{n}-1", [prompt], own, [1, 0, 0, 0, 0, 0]),
                example(f"d{n}-3", [prompt, own[0], f"q{n}"], later, [1, 0, 0, 0, 0, 0]),
            ]
        )
    return found


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_column_does_not_tell_the_true_response_of_a_train_example_from_borrowed_ones(
    part: type[LearnedPart],
) -> None:
    """Where all responses are alike, what is learned of the others must not give the true ones away."""
    dialogues = borrowed_set()
    train = [one for dialogue in dialogues for one in dialogue]
    lexicon = Lexicon.of(train, Wording("en"))
    true, borrowed = [], []
    for fold in range(5):
        ours = [one for dialogue in dialogues[fold::5] for one in dialogue]
        others = [one for at, dialogue in enumerate(dialogues) if at % 5 != fold for one in dialogue]
        fitted = part.fit(without_borrowed(others, ours) if part.held_out else train, lexicon, made_run())
        # Of the first context of each dialogue, whose candidates are alike.
        columns = fitted.columns(read(ours, lexicon), own=True).reshape(len(ours), 6, -1)[::2]
        true.append(columns[:, 0])
        borrowed.append(columns[:, 1:].mean(axis=1))
    gaps = np.concatenate(true) - np.concatenate(borrowed)
    spread = gaps.std(axis=0) / math.sqrt(len(gaps)) + 1e-9
    assert (np.abs(gaps.mean(axis=0)) / spread < 4).all(), (gaps.mean(axis=0) / spread).tolist()


def test_what_is_borrowed_is_left_out_of_binary_sets_only() -> None:
    others = [example("1", ["x", "b"], ["a", "b", "c"], [1, 0, 0])]
    ours = [example("2", "p", ["b", "d"], [1, 0])]
    (left,) = without_borrowed(others, ours)
    assert left.texts == ("a", "c")
    assert left.relevance.tolist() == [1, 0]
    assert [turn.text for turn in left.turns] == ["x", ""]
    graded = [example("1", ["x", "b"], ["a", "b", "c"], [5, 1, 1])]
    assert without_borrowed(graded, ours) == graded
    assert is_binary(others)
    assert not is_binary(graded)


def test_what_nobody_said_counts_as_the_least() -> None:
    nan = float("nan")
    assert levels([example("1", "p", ["a", "b", "c"], [nan, 2, 5])]).tolist() == [2, 2, 5]
    assert levels([example("1", "p", ["a"], [nan])]).tolist() == [0]
    graded = grades([example("1", "p", ["a", "b", "c"], [nan, 3, 5]), example("2", "p", ["d"], [1])])
    assert graded.labels.tolist() == [0, 1, 2, 0]
    assert graded.gains.tolist() == [0, 0.5, 1]
    assert len(grades([]).labels) == 0


def test_many_relevances_become_few_grades_in_order() -> None:
    values = np.random.default_rng(0).random(500)
    graded = grades([example("1", "p", ["t"] * 500, values.tolist())])
    assert graded.labels.max() < 31
    order = np.argsort(values)
    assert (np.diff(graded.labels[order]) >= 0).all()
    assert (np.diff(graded.gains) > 0).all()
    same = graded.labels[:, None] == np.arange(graded.labels.max() + 1)
    worth = np.array([values[same[:, label]].mean() for label in range(same.shape[1])])
    assert graded.gains == pytest.approx((worth - worth[0]) / np.ptp(worth))


def test_worth_learns_which_words_people_like() -> None:
    train = [example(str(n), f"p{n}", [f"lovely word{n % 7}", f"awful word{n % 5}"], [5, 1]) for n in range(40)]
    lexicon = Lexicon.of(train, Wording("en"))
    part = Worth.fit(train, lexicon, made_run())
    good, bad, empty = part.columns(
        read([example("x", "p", ["a lovely thing", "an awful thing", ""])], lexicon), own=False
    )
    assert good[0] > 0.2 > -0.2 > bad[0]
    assert empty.tolist() == [0, 0, 0]


def test_relative_is_the_standard_score_within_a_context() -> None:
    random = np.random.default_rng(1)
    sizes = [3, 0, 1, 4]
    columns = random.normal(5, 2, (8, 3))
    columns[3:, 1] = 7.0
    told = relative(columns, sizes)
    for rows in (slice(0, 3), slice(4, 8)):
        part = columns[rows]
        deviation = part.std(axis=0)
        expected = np.where(deviation > 0, (part - part.mean(axis=0)) / np.where(deviation > 0, deviation, 1), 0)
        assert told[rows] == pytest.approx(expected, abs=1e-9)
    assert told[3].tolist() == [0, 0, 0]
    assert relative(np.zeros((0, 3)), [0, 0]).shape == (0, 3)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_is_read_as_it_was_written_and_learns_of_nothing_too(part: type[LearnedPart]) -> None:
    splits = made_splits(train=20, test=5)
    lexicon = Lexicon.of(splits.train, Wording("en"))
    fitted = part.fit(splits.train, lexicon, made_run())
    arrays = fitted.to_arrays()
    assert all(array.dtype != object for array in arrays.values())
    rows = read(splits.test, lexicon)
    values = fitted.columns(rows, own=False)
    assert values.shape == (sum(map(len, splits.test)), len(part.features))
    np.testing.assert_array_equal(part.from_arrays(arrays, lexicon).columns(rows, own=False), values)
    for name in arrays:
        short = {key: array[:-1] if key == name else array for key, array in arrays.items()}
        with pytest.raises((KeyError, ValueError, IndexError)):
            part.from_arrays(short, lexicon)
        with pytest.raises((KeyError, ValueError, IndexError)):
            part.from_arrays({key: array for key, array in arrays.items() if key != name}, lexicon)
    nothing = part.fit([], lexicon, made_run()).columns(rows, own=False)
    assert np.isfinite(nothing).all()
