from pathlib import Path

import pytest

from tertulia.errors import InputError
from tertulia.retrieval import MatchingIndex

from .banks import dialogue


def test_the_source_of_a_response_is_told_at_once(tmp_path: Path) -> None:
    bank = [dialogue("a", ["one fish", "two fish", "red fish"], "fish"), dialogue("b", ["hello"], None)]
    with MatchingIndex.build(bank, tmp_path / "index") as index:
        assert index.source(2) == ("a", 2, "fish", "two fish", "red fish")
        assert index.source(0) == ("a", 0, "fish", "", "one fish")
        assert index.source(3) == ("b", 0, None, "", "hello")
        with pytest.raises(InputError):
            index.source(4)
