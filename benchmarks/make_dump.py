"""A Stack Exchange dump of any size, like the real ones in all that costs time: ``Posts``, ``Comments``, ``Users``, ``Votes``.

Lengths, shares and who speaks after whom come from ``_dump_profile.py``; the words are made up. The same size and seed
give the same bytes, whatever the number of workers. ``--describe DUMP...`` prints the figures asked for beside those of dumps.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

from _dump_chunk import CHUNK_BYTES, Chunk, Plan, make_chunk, prepare
from _dump_statistics import LEVELS, profile_of

HEAD = '\ufeff<?xml version="1.0" encoding="utf-8"?>\r\n<{root}>\r\n'
FILES = {"Posts": "posts", "Comments": "comments", "Users": "users", "Votes": "votes", "PostHistory": "posthistory"}
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def size(text: str) -> int:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmg]?)b?", text.strip(), re.I)
    if not found or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; expected such as 500MB or 5GB")
    return int(float(found[1]) * UNITS[found[2].lower()])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example: python benchmarks/make_dump.py 5GB -o ~/dumps/made_202405; "
        "python benchmarks/make_dump.py --describe ~/dumps/made_202405 ~/dumps/beer_20200531",
    )
    parser.add_argument("size", nargs="?", type=size, help="bytes of all tables together, such as 500MB or 5GB")
    parser.add_argument("-o", "--output", type=Path, help="the folder of the dump; must not exist")
    parser.add_argument("--seed", type=int, default=0, help="another seed, another dump (default 0)")
    parser.add_argument("--history", action="store_true", help="also PostHistory.xml, which counts to the size")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--describe", type=Path, nargs="+", metavar="DUMP", help="print figures of these dumps instead")
    options = parser.parse_args()
    if options.describe is None and (options.size is None or options.output is None):
        parser.error("a size and -o are needed")
    if options.output is not None and options.output.exists():
        parser.error(f"{options.output} exists already")
    return options


def main() -> None:
    options = parse()
    if options.describe:
        print(describe(options.describe))
        return
    begun = time.perf_counter()
    written = make_dump(options.size, options.output, options.seed, options.workers, options.history)
    took = time.perf_counter() - begun
    total = sum(written.values())
    shares = ", ".join(f"{table} {count / 1e6:,.1f}" for table, count in written.items())
    print(f"{total / 1e6:,.1f} MB in {took:.1f} s ({total / 1e6 / took:.0f} MB/s): {shares}")


def make_dump(wanted: int, output: Path, seed: int, workers: int, history: bool = False) -> dict[str, int]:
    """Write the dump; table → bytes. It is at least as large as wanted, by less than one chunk too large."""
    plan = Plan(seed, max(1, round(wanted / CHUNK_BYTES)), history)
    tables = list(FILES) if history else [table for table in FILES if table != "PostHistory"]
    output.mkdir(parents=True)
    files = {table: (output / f"{table}.xml").open("wb") for table in tables}
    written = dict.fromkeys(tables, 0)
    for table in tables:
        written[table] += files[table].write(HEAD.format(root=FILES[table]).encode())
    shown = time.monotonic()
    prepare(plan)  # before the fork, where processes are forked
    with ProcessPoolExecutor(max(1, workers), initializer=prepare, initargs=(plan,)) as pool:
        under_way: deque[Future[Chunk]] = deque()
        number = 0
        while sum(written.values()) < wanted:
            # No more than is soon written: a slow disk must not fill the memory.
            while len(under_way) < 2 * max(1, workers):
                under_way.append(pool.submit(make_chunk, number))
                number += 1
            for table, data in under_way.popleft().result().items():
                written[table] += files[table].write(data)
            if time.monotonic() - shown > 5:
                shown = time.monotonic()
                print(f"{sum(written.values()) / 1e6:,.0f} of {wanted / 1e6:,.0f} MB", file=sys.stderr, flush=True)
        for future in under_way:
            future.cancel()
    for table in tables:
        written[table] += files[table].write(f"</{FILES[table]}>".encode())
        files[table].close()
    return written


def describe(dumps: list[Path]) -> str:
    """A table: each figure as asked for, and as found in each dump."""
    import _dump_profile as asked

    profiles = [
        {
            "shares": asked.SHARES,
            "histograms": asked.HISTOGRAMS,
            "quantiles": asked.QUANTILES,
            "follows": asked.FOLLOWS,
            "vote types": asked.VOTE_TYPES,
        },
        *(profile_of([dump]) for dump in dumps),
    ]
    lines = [["", "asked for", *(dump.name for dump in dumps)]]

    def line(name: str, values: list[float | None], digits: int) -> None:
        lines.append([name, *("-" if value is None else f"{value:,.{digits}f}" for value in values)])

    for name in profiles[0]["shares"]:
        line(name, [p["shares"].get(name) for p in profiles], 0 if "bytes" in name else 4)
    for name in profiles[0]["histograms"]:
        for number in range(5):
            shares = [p["histograms"][name] for p in profiles]
            line(f"{name}: {number}", [s[number] if number < len(s) else 0.0 for s in shares], 4)
    for name in profiles[0]["quantiles"]:
        for level in (0.1, 0.5, 0.9, 0.99):
            at = LEVELS.index(level)
            found = [p["quantiles"][name] for p in profiles]
            line(f"{name}: {level:.0%}", [f[at] if f else None for f in found], 0)
    for said, followed in profiles[0]["follows"].items():
        for index, who in enumerate("spo"):
            if followed:
                line(f"{said} then {who}", [p["follows"][said][index] for p in profiles], 3)
    for kind in profiles[0]["vote types"]:
        line(f"votes of type {kind}", [p["vote types"].get(kind, 0.0) for p in profiles], 5)
    widths = [max(len(row[column]) for row in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(widths[0]) if column == 0 else cell.rjust(widths[column]) for column, cell in enumerate(row)
        )
        for row in lines
    )


if __name__ == "__main__":
    main()
