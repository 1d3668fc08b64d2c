"""The rankers on real sets, as ``docs/results.md`` has them: every set is made and measured by the commands that a user would type.

    python benchmarks/ranking.py -o results                          all sets, hours; what is done is kept and gone on with
    python benchmarks/ranking.py -o results --sets usr --rankers bm25,gbdt,ensemble
    python benchmarks/ranking.py -o results --write docs/results.md  writes the page from what is there

The data is read from ``TERTULIA_DATA`` (by default ../shared/data). Sets:

    xiaomi                  1,600 Chinese queries with voted replies, in 10 folds
    predictive_engagement   299 English queries with two replies each, three grades a reply, in 5 folds
    usr_topicalchat         60 English contexts with six responses each, mean grades, in 5 folds
    tencent                 the 408 lines of the human-rated corpus that are public, in 5 folds
    beer                    MANtIS-style: contexts of the beer dump, the true response and 10 BM25 negatives, in 5 folds
    self_dialogue           1 true response and 9 BM25 negatives, split by worker: 6,000 / 600 / 1,500 contexts
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("TERTULIA_DATA", ROOT.parent / "shared" / "data"))
RATED = DATA / "rated_responses"
PARTS = {"train": 6_000, "dev": 600, "test": 1_500}


@dataclass(frozen=True)
class Commands:
    """Runs commands of Tertulia in the folder of the results, and remembers how a user would type them."""

    folder: Path

    def run(self, *words: object) -> str:
        """One command; what it printed. Its progress goes to standard error."""
        texts = [str(word) for word in words]
        print(f"\n$ tertulia {shlex.join(self.shown(texts))}", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "tertulia.cli.main", *texts]
        return subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True).stdout

    def shown(self, texts: list[str]) -> list[str]:
        """Words as the page shows them: data by its place under the folder of data."""
        return [text.replace(f"{DATA}{os.sep}", "data/") for text in texts]

    def once(self, made: str, *words: object) -> None:
        """A command that makes a folder, unless it is there."""
        if not (self.folder / made).exists():
            self.run(*words, "-o", made)


@dataclass(frozen=True)
class Subject:
    """A set of the page: what it is, how it is made, and how it is measured."""

    name: str
    title: str
    about: str
    make: Callable[[Commands], None]
    options: tuple[str, ...]


def _rated(name: str, *words: str) -> Callable[[Commands], None]:
    def make(commands: Commands) -> None:
        commands.once(name, "corpus", "import", *words)

    return make


def _engagement(commands: Commands) -> None:
    """The file has a row for each grade: the three of a reply become one line of the form for several raters."""
    source = RATED / "predictive_engagement" / "Eng_Scores_queries_gen_gtruth_replies.csv"
    grades: dict[tuple[str, str], list[str]] = {}
    with source.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            grades.setdefault((row["query"], row["response"]), []).append(row["human_score"])
    lines = ["\t".join([query, response, *given]) + "\n" for (query, response), given in grades.items()]
    (commands.folder / "three-raters.tsv").write_text("".join(lines), encoding="utf-8")
    commands.once("three-raters", "corpus", "import", "rated-tsv", "three-raters.tsv", "--option", "group=all")
    commands.once("predictive_engagement", "ranking", "ratings", "three-raters", "--gap", "inf", "--scale", "1,2,3,4,5")


def _beer(commands: Commands) -> None:
    dump = DATA / "stackexchange" / "beer_20200531"
    criteria = "two-users,two-utterances-each"
    commands.once("beer-threads", "stackexchange", "build", dump, "--criteria", criteria)
    commands.once("beer", "ranking", "build", "beer-threads", "--negatives", 10)


def _self_dialogues(commands: Commands) -> None:
    commands.once("dialogues", "corpus", "import", "self-dialogue", DATA / "self_dialogue")
    commands.once("dialogues-split", "corpus", "split", "dialogues", "--together", "worker")
    commands.once("all-contexts", "ranking", "build", "dialogues-split", "--negatives", 9, "--from", "all")
    for split, count in PARTS.items():
        commands.once(f"contexts-{split}", "corpus", "sample", "all-contexts", "--split", split, "-n", count)
    commands.once("self_dialogue", "corpus", "merge", *(f"contexts-{split}" for split in PARTS))


FOLDS = ("--folds", "5", "--trials", "4")
SUBJECTS = [
    Subject(
        "self_dialogue",
        "Self-dialogues, response selection",
        "1 true response and 9 negatives from the 1,000 best by BM25 with the true response as the query, of all topics; no "
        "worker is in two splits.",
        _self_dialogues,
        ("--trials", "4"),
    ),
    Subject(
        "xiaomi",
        "Xiaomi, NLPCC 2023",
        "Chinese queries to a voice assistant; relevance (likes + 1) / (likes + dislikes + 2).",
        _rated("xiaomi", "xiaomi", str(RATED / "xiaomi_nlpcc2023" / "datasets_dev_1600.jsonl")),
        ("--folds", "10", "--trials", "4"),
    ),
    Subject(
        "predictive_engagement",
        "Predictive engagement",
        "English queries, two replies each (one generated, one human), the mean of three people's grades from 1 to 5.",
        _engagement,
        FOLDS,
    ),
    Subject(
        "usr_topicalchat",
        "USR, Topical-Chat",
        "English contexts of several turns, six responses each, the mean overall grade of three people.",
        _rated("usr_topicalchat", "usr", str(RATED / "usr_topicalchat" / "topical_chat.json")),
        FOLDS,
    ),
    Subject(
        "beer",
        "Beer, MANtIS-style",
        "Information-seeking dialogues of beer.stackexchange (2020): the true response and 10 negatives of the same split.",
        _beer,
        FOLDS,
    ),
    Subject(
        "tencent",
        "The human-rated corpus, its public lines",
        "408 prompt-response pairs with the mean of two grades, segmented; most prompts have one response, which any system ranks "
        "first.",
        _rated("tencent", "rated-tsv", str(RATED / "tencent" / "rated_subset_408.tsv")),
        FOLDS,
    ),
]


def main() -> None:
    """Parse, make, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder of sets and results")
    parser.add_argument("--sets", help="names with commas between them; by default all")
    parser.add_argument("--rankers", help="as of ranking benchmark")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--workers", default=str(os.cpu_count() or 1))
    parser.add_argument("--write", type=Path, help="the page to write from what there is")
    parser.add_argument("--only-write", action="store_true", help="measure nothing")
    parser.add_argument("more", nargs="*", help="more options of ranking benchmark, after --")
    arguments = parser.parse_args()
    wanted = {name.strip() for name in (arguments.sets or "").split(",") if name.strip()}
    unknown = wanted - {subject.name for subject in SUBJECTS}
    if unknown:
        parser.error(f"there is no set {', '.join(sorted(unknown))}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    commands = Commands(arguments.output.resolve())
    for subject in SUBJECTS:
        if arguments.only_write or (wanted and subject.name not in wanted):
            continue
        subject.make(commands)
        began = time.monotonic()
        commands.run(*_command(subject, arguments), "--overwrite", "--cache", "cache", "--json")
        print(f"{subject.name}: {(time.monotonic() - began) / 60:.1f} minutes", file=sys.stderr)
    if arguments.write:
        arguments.write.write_text(_page(commands.folder), encoding="utf-8")


def _command(subject: Subject, arguments: argparse.Namespace) -> list[str]:
    words = ["ranking", "benchmark", subject.name, "-o", f"{subject.name}-results", *subject.options]
    words += ["--seeds", arguments.seeds, "--workers", arguments.workers]
    return [*words, *(["--rankers", arguments.rankers] if arguments.rankers else []), *arguments.more]


def _page(folder: Path) -> str:
    """The page: what is claimed and whether it holds, then every table."""
    sections, verdicts = [], []
    for subject in SUBJECTS:
        results = folder / f"{subject.name}-results"
        if not (results / "table.md").is_file():
            continue
        manifest = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
        table = (results / "table.md").read_text(encoding="utf-8").split("\n", 1)[1].strip()
        costs = (results / "costs.md").read_text(encoding="utf-8").strip()
        sections.append(f"## {subject.title}\n\n{subject.about}\n\n{table}\n\n{costs}\n")
        verdicts.append(_verdict(subject, results, manifest))
    return "\n".join([_HEAD, *verdicts, "", *sections])


_HEAD = """# Results

Made by `python benchmarks/ranking.py -o results --write docs/results.md`: sets from public data, every ranker, and the tables of
`tertulia ranking benchmark` as it writes them. Costs are of a shared machine with two cores, and differ from run to run; the other
figures are the same to the last digit. The data is not part of this project.

What was to be shown, at the strictest cut, by MAP:

| set | train contexts | a supervised ranker beats BM25 | ensemble |
|---|---|---|---|"""


def _verdict(subject: Subject, results: Path, manifest: dict[str, Any]) -> str:
    """One row: which supervised ranker beats BM25 with what p, and whether the ensemble is the best or tied for it."""
    with (results / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "MAP"]
    strictest = max(float(row["cut"]) for row in rows)
    rows = [row for row in rows if float(row["cut"]) == strictest]
    by_name = {row["system"]: row for row in rows}
    better = [
        (float(row["difference"]), row["system"], float(row["difference_p"]))
        for name, row in by_name.items()
        if name in SUPERVISED
        and row["difference"]
        and float(row["difference"]) > 0
        and float(row["difference_p"]) < 0.05
    ]
    beats = "none at p < .05"
    if better:
        most, system, p = max(better)
        others = ", ".join(name for _, name, _ in sorted(better, reverse=True)[1:])
        beats = f"{system} by {100 * most:.1f} (p = {p:.4f})" + (f"; also {others}" if others else "")
    best = max(rows, key=lambda row: float(row["mean"]))
    ensemble = by_name.get("ensemble")
    if ensemble is None:
        verdict = "not measured"
    elif ensemble is best:
        verdict = f"best, {100 * float(ensemble['mean']):.1f}"
    else:
        tied = set(ensemble["letters"]) & set(best["letters"])
        word = "tied with" if tied else "behind"
        verdict = f"{100 * float(ensemble['mean']):.1f}, {word} {best['system']} ({100 * float(best['mean']):.1f})"
    train = manifest["details"].get("train", "–")
    return f"| {subject.title} (≥ {strictest:g}) | {train} | {beats} | {verdict} |"


SUPERVISED = {"svmrank", "gbdt", "bilstm", "cnn", "biencoder", "crossencoder", "ensemble"}

if __name__ == "__main__":
    main()
