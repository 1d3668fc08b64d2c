"""The order in which the utterances of a ConvoKit conversation are read."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.interchange.convokit_rows import Row, in_a_circle, reading_order


def plain_order(rows: list[Row]) -> list[int]:
    """The definition: again and again the first by time and place of those whose parent is out or is not there."""
    ids = {row.id for row in rows}
    timed = all(isinstance(row.timestamp, int) for row in rows)
    left, order = list(range(len(rows))), []
    while left:
        done = {rows[index].id for index in order}
        free = [i for i in left if rows[i].reply_to not in ids or rows[i].reply_to in done]
        chosen = min(free or left, key=lambda i: (rows[i].timestamp if timed else 0, i))
        if not free:
            chosen = min(left, key=lambda i: (rows[i].timestamp if timed else 0, i))
            order += sorted(left, key=lambda i: (rows[i].timestamp if timed else 0, i))
            break
        order.append(chosen)
        left.remove(chosen)
    return order


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.none() | st.integers(0, 7), st.none() | st.integers(0, 3)), min_size=1, max_size=7))
def test_the_order_of_reading_is_its_definition(shape: list[tuple[int | None, int | None]]) -> None:
    rows = [Row(f"u{n}", "A", "", None if r is None else f"u{r}", t) for n, (r, t) in enumerate(shape)]
    order = reading_order(rows)
    assert order == plain_order(rows)
    ordered = [rows[index] for index in order]
    parents = {row.id: row.reply_to for row in rows}

    def circles(name: str) -> bool:
        seen = set()
        at: str | None = name
        while at in parents and at not in seen:
            seen.add(at)
            at = parents[at]
        return at in parents

    assert in_a_circle(ordered) == any(circles(row.id) for row in rows)
