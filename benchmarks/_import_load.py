"""Loads one file with one library and prints what it took as JSON: a process of its own for every measurement.

Needs nothing of the project but for the engine ``tertulia``, so that another interpreter can run it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path


def tertulia(what: str, source: str, work: str) -> Callable[[], int]:
    from tertulia.corpus.exchange import Report
    from tertulia.formats.importing import import_corpus
    from tertulia.formats.registry import FORMATS

    FORMATS.get(what)

    def load() -> int:
        report = Report()
        with import_corpus(what, source, Path(work) / "corpus", report) as corpus:
            if report.skipped:
                raise SystemExit(f"left something out: {report.to_json()['skipped']}")
            return sum(corpus.manifest.counts[name] for name in corpus.layout.tables[1:2])

    return load


def datasets(what: str, source: str, work: str) -> Callable[[], int]:
    import datasets as library

    def load() -> int:
        path, named = Path(source), {}
        if what == "self-dialogue":
            kind, files = "csv", sorted(str(file) for file in path.rglob("*.csv"))
        elif what == "convokit":
            kind, files = "json", [str(path / "utterances.jsonl")]
        elif what == "rated-tsv":
            kind, files = "csv", [source]
            named = {"delimiter": "\t", "column_names": ["prompt", "response", "rating"], "quoting": 3}
        else:
            kind, files = "json", [source]
        loaded = library.load_dataset(kind, data_files=files, cache_dir=f"{work}/cache", split="train", **named)
        return sum(len(batch) for batch in loaded.with_format("arrow").iter(10_000))

    return load


def convokit(_what: str, source: str, _work: str) -> Callable[[], int]:
    from convokit import Corpus

    return lambda: len(Corpus(filename=source).get_utterance_ids())


def main() -> None:
    engine, what, source, work = sys.argv[1:]
    load = {"tertulia": tertulia, "datasets": datasets, "convokit": convokit}[engine](what, source, work)
    wall, cpu = time.perf_counter(), time.process_time()
    rows = load()
    found = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu, "rows": rows}
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
