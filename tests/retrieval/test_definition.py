"""The definition over arrays is the definition in plain Python."""

import pytest

from .banks import Generator, Model
from .definition import LargeBank, rank


@pytest.mark.parametrize("seed", range(3))
def test_both_forms_agree(seed):
    generator = Generator(seed, vocabulary=400)
    model = Model()
    model.add(generator.dialogues(40))
    large = LargeBank(model.placed)
    for text, previous in generator.queries(15):
        for topic in (None, "topic 1"):
            assert large.rank(text, previous, topic=topic) == rank(model.placed, text, previous, topic=topic)
