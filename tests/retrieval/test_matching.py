"""The matching score equals its definition: the same responses in the same order with the same bits."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.retrieval import MatchingIndex
from tertulia.retrieval import matching as matching_module

from .banks import COMMON, RARER, UNKNOWN, Generator, Model, dialogue
from .definition import LargeBank, rank

texts = st.lists(st.sampled_from([*COMMON, *RARER, *UNKNOWN, "…", "!"]), max_size=9).map(" ".join)
banks = st.lists(st.tuples(st.lists(texts, max_size=6), st.sampled_from([None, "a", "b"])), max_size=10)
queries = st.lists(st.tuples(texts, texts), min_size=1, max_size=4)
relaxed = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def dialogues_of(bank, prefix="d"):
    return [dialogue(f"{prefix}{index}", said, topic) for index, (said, topic) in enumerate(bank)]


def assert_same(index, model, queries, *, scale=1.3, ks=(10,), lams=(0.005,)):
    for text, previous in queries:
        for topic in (None, "b", "none has it"):
            for k in ks:
                for lam in lams:
                    options = {"k": k, "topic": topic, "lam": lam}
                    expected = rank(model.placed, text, previous, scale=scale, **options)
                    assert [tuple(match) for match in index.search(text, previous, **options)] == expected


@relaxed
@given(bank=banks, queries=queries, scale=st.sampled_from([0.5, 1.0, 1.3, 7.0]))
def test_equals_the_definition(kernel, tmp_path_factory, bank, queries, scale):
    path = tmp_path_factory.mktemp("index") / "bank"
    model = Model()
    model.add(dialogues_of(bank))
    with MatchingIndex.build(dialogues_of(bank), path, scale=scale) as index:
        assert_same(index, model, queries, scale=scale, ks=(1, 3, 1000), lams=(0.005, 0.0, 2.0))


changes = st.lists(
    st.one_of(
        st.tuples(st.just("add"), banks),
        st.tuples(st.just("remove"), st.sets(st.integers(0, 30), max_size=4)),
        st.tuples(st.just("compact"), st.none()),
    ),
    max_size=6,
)


@relaxed
@given(bank=banks, changes=changes, queries=queries)
def test_equals_the_definition_after_changes(kernel, tmp_path_factory, monkeypatch, bank, changes, queries):
    monkeypatch.setattr(matching_module, "MOST_SEGMENTS", 3)
    path = tmp_path_factory.mktemp("index") / "bank"
    model = Model()
    model.add(dialogues_of(bank))
    with MatchingIndex.build(dialogues_of(bank), path) as index:
        for step, (change, what) in enumerate(changes):
            if change == "add":
                more = dialogues_of(what, f"s{step}-")
                model.add(more)
                assert index.add(more) == len(more)
            elif change == "remove":
                live = [placed.dialogue.id for placed in model.placed]
                ids = {live[i] for i in what if i < len(live)}
                model.remove(ids)
                assert index.remove(ids) == len(ids)
            else:
                index.compact()
                assert index.counts["segments"] <= 1
            assert index.counts["segments"] <= 3
        assert index.counts["dialogues"] == len(model.placed)
        assert_same(index, model, queries)
        with MatchingIndex.open(path) as again:
            assert_same(again, model, queries)
            for placed in model.placed:
                texts = placed.dialogue.texts
                assert again.dialogue(placed.dialogue.id) == (placed.dialogue.domain, texts)
                for position, text in enumerate(texts):
                    assert again.locate(placed.number + position) == (placed.dialogue.id, position)
                    assert again.text(placed.number + position) == text


def assert_same_as_large(index, model, queries):
    large = LargeBank(model.placed)
    for number, (text, previous) in enumerate(queries):
        options = {"topic": (None, "topic 1", "topic 3")[number % 3], "k": (10, 10, 1, 200, 300)[number % 5]}
        found = index.search(text, previous, **options)
        assert [tuple(match) for match in found] == large.rank(text, previous, **options)


@pytest.mark.parametrize("seed", range(2))
def test_equals_the_definition_on_a_large_bank(kernel, tmp_path, seed):
    generator = Generator(seed)
    model = Model()
    first = generator.dialogues(3000)
    model.add(first)
    with MatchingIndex.build(first, tmp_path / "bank") as index:
        assert_same_as_large(index, model, generator.queries(60))
        more = generator.dialogues(300)
        index.add(more)
        model.add(more)
        gone = {each.id for each in generator.random.sample([*first, *more], 400)}
        index.remove(gone)
        model.remove(gone)
        assert_same_as_large(index, model, generator.queries(30))
        index.compact()
        assert_same_as_large(index, model, generator.queries(30))


def test_a_grown_bank_gives_the_bits_of_one_built_at_once(kernel, tmp_path):
    generator = Generator(5)
    dialogues = generator.dialogues(400)
    with (
        MatchingIndex.build(dialogues, tmp_path / "once") as once,
        MatchingIndex.build(dialogues[:100], tmp_path / "grown") as grown,
    ):
        for start in range(100, 400, 30):
            grown.add(dialogues[start : start + 30])
        for text, previous in generator.queries(50):
            assert grown.search(text, previous) == once.search(text, previous)


def test_many_words_share_a_signature_bit_in_a_long_query(kernel, tmp_path):
    generator = Generator(8)
    model = Model()
    dialogues = generator.dialogues(400)
    model.add(dialogues)
    long = [
        (" ".join(generator.random.sample(generator.words, size)), generator.text()) for size in (64, 90, 101, 260, 900)
    ]
    with MatchingIndex.build(dialogues, tmp_path / "bank") as index:
        assert_same_as_large(index, model, long + [(previous, text) for text, previous in long])


def test_positions_beyond_a_byte_keep_their_context(kernel, tmp_path):
    texts = [f"horror word{index % 7} movie{index}" for index in range(700)]
    bank = [dialogue("long", texts), dialogue("other", ["horror"])]
    model = Model()
    model.add(bank)
    with MatchingIndex.build(bank, tmp_path / "bank") as index:
        assert_same(index, model, [("horror movie255", "movie254"), ("movie256 word3", "movie511")])


@pytest.mark.parametrize("text", ["", "?!… --", "\ud800", "\ud800 horror \udfff", "zzqxq", "\0horror\0"])
def test_odd_queries(kernel, tmp_path, text):
    bank = [dialogue("a", ["horror", "yes \ud800", "no", "horror"], "a")]
    model = Model()
    model.add(bank)
    with MatchingIndex.build(bank, tmp_path / "bank") as index:
        assert_same(index, model, [(text, ""), ("horror", text), (text, text)])
        assert index.text(1) == "yes \ud800"


def test_a_query_of_a_hundred_thousand_words(kernel, tmp_path):
    generator = Generator(3)
    model = Model()
    dialogues = generator.dialogues(200)
    model.add(dialogues)
    text = " ".join([*(f"unheard{index}" for index in range(97_000)), *generator.words])
    assert len(text) > 1_000_000
    with MatchingIndex.build(dialogues, tmp_path / "bank") as index:
        assert_same_as_large(index, model, [(text, ""), ("horror", text)])


def test_ties_go_to_the_larger_norm_and_then_to_the_lower_number(kernel, tmp_path):
    bank = [
        dialogue("b", ["do you like horror", "yes"], "b"),
        dialogue("a", ["do you like horror", "yes"], "a"),
        dialogue("c", ["do you like horror", "metallica"], "a"),
    ]
    with MatchingIndex.build(bank, tmp_path / "bank") as index:
        found = index.search("do you like horror")
        assert [match.number for match in found] == [5, 1, 3]
        assert found[0].score == found[1].score == found[2].score
        assert [match.number for match in index.search("do you like horror", k=2)] == [5, 1]
        assert [match.number for match in index.search("do you like horror", topic="a")] == [5, 3, 1]
        assert index.search_many([("do you like horror", "")]) == [found]


def test_chinese(kernel, tmp_path):
    bank = [dialogue("a", ["你喜欢看电影吗？", "我喜欢恐怖电影。", "为什么？"]), dialogue("b", ["天气很好", "是的"])]
    with MatchingIndex.build(bank, tmp_path / "bank", language="zh") as index:
        found = index.search("你喜欢什么电影", "你好")
        assert index.text(found[0].number) == "我喜欢恐怖电影。"
        assert index.language == "zh"
        assert index.search("！？") == []
