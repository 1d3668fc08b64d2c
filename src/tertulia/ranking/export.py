"""A ranking set as outside systems and ``trec_eval`` take it: what is to be ranked, and what was judged.

``contexts.tsv`` has a line for each turn (``qid turn role text``), ``candidates.tsv`` one for each candidate (``qid docno text``),
both with a header and without any relevance. A tab or line break in a text stands as the symbol that Unicode has for it, as in
all our tab-separated files. ``qrels-CUT.txt`` says of each candidate whether it reaches the cut; contexts of which none does
are not in it. ``qrels.txt`` has relevance as it is, where all of it are whole numbers, which is all that ``trec_eval`` reads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tertulia.artefact import Manifest, create, digest_of_path
from tertulia.corpus.ranking_set import RankingSet
from tertulia.formats.files.cells import escape
from tertulia.measures.ranking_names import cut_name
from tertulia.ranking.docnos import docnos
from tertulia.ranking.quality import default_cuts
from tertulia.ranking.runs import qid
from tertulia.ranking.selection import select

if TYPE_CHECKING:
    from tertulia.ranking.examples import Example
    from tertulia.ranking.ranker import Progress

__all__ = ["EXPORT", "Exported", "export_set"]

EXPORT = "ranking-export"
_LARGEST = 2**31 - 1


@dataclass(slots=True)
class Exported:
    """What was written: contexts and candidates; of each qrels file the contexts in it; how a set without splits was divided."""

    contexts: int = 0
    candidates: int = 0
    qrels: dict[str, int] = field(default_factory=dict)
    how: str | None = None


def export_set(
    source: str | Path,
    output: str | Path,
    *,
    split: str = "test",
    cuts: Sequence[float] | None = None,
    split_seed: int = 0,
    overwrite: bool = False,
    progress: Progress = lambda _stage, _done, _total: None,
) -> Exported:
    """Write a split of a ranking set for outside systems into the directory ``output``, with qrels at each of the cuts.

    ``cuts`` are those that suit the set unless given. The set is read twice, as a stream.

    Raises
    ------
    InputError
        The set has no such split.
    ArtefactError
        The set is damaged, or ``output`` cannot be written.
    """
    manifest = Manifest(EXPORT, command=["tertulia", "ranking", "export", Path(source).resolve().name])
    with create(output, manifest, overwrite=overwrite) as draft, RankingSet(source, check_digests=True) as opened:
        manifest.inputs = [digest_of_path(Path(source))]
        manifest.licence, manifest.citation = opened.manifest.licence, opened.manifest.citation
        given = list(dict.fromkeys(cuts or default_cuts(select(opened, split, seed=split_seed).examples)))
        names = {f"qrels-{cut_name(cut).replace('/', '-')}.txt": cut for cut in given}
        selection = select(opened, split, seed=split_seed)
        done = Exported(qrels=dict.fromkeys(names, 0), how=selection.how)
        whole = True
        with ExitStack() as stack:

            def new(name: str) -> TextIO:
                path = draft.directory / name
                return stack.enter_context(path.open("w", encoding="utf-8", newline="\n"))

            contexts, candidates, graded = new("contexts.tsv"), new("candidates.tsv"), new("qrels.txt")
            judged = {cut: new(name) for name, cut in names.items()}
            contexts.write("qid\tturn\trole\ttext\n")
            candidates.write("qid\tdocno\ttext\n")
            for example in selection.examples:
                name, numbers = qid(example.id), docnos(example.id, len(example))
                contexts.writelines(
                    f"{name}\t{number}\t{turn.role or ''}\t{escape(turn.text)}\n"
                    for number, turn in enumerate(example.turns)
                )
                candidates.writelines(
                    f"{name}\t{number}\t{escape(text)}\n" for number, text in zip(numbers, example.texts, strict=True)
                )
                for file, cut in zip(done.qrels, given, strict=True):
                    done.qrels[file] += _judge(judged[cut], name, numbers, example, cut)
                whole = whole and _write_grades(graded, name, numbers, example)
                done.contexts += 1
                done.candidates += len(example)
                progress("writing", 1, selection.total)
        if whole:
            done.qrels["qrels.txt"] = done.contexts
        else:
            (draft.directory / "qrels.txt").unlink()
        manifest.options = {"split": split, "cuts": given, "split_seed": split_seed}
        manifest.counts = {"contexts": done.contexts, "candidates": done.candidates}
    return done


def _judge(file: TextIO, name: str, numbers: Sequence[str], example: Example, cut: float) -> bool:
    """Write whether each candidate reaches the cut; nothing where none does, for such contexts are left out of every mean."""
    positive = (example.relevance >= cut).tolist()
    if any(positive):
        file.writelines(f"{name} 0 {number} {int(is_one)}\n" for number, is_one in zip(numbers, positive, strict=True))
    return any(positive)


def _write_grades(file: TextIO, name: str, numbers: Sequence[str], example: Example) -> bool:
    """Write relevance as it is, where anyone has said it; whether it can be written so."""
    grades = example.relevance.tolist()
    if not all(math.isnan(grade) or (abs(grade) <= _LARGEST and grade == int(grade)) for grade in grades):
        return False
    file.writelines(
        f"{name} 0 {number} {int(grade)}\n"
        for number, grade in zip(numbers, grades, strict=True)
        if not math.isnan(grade)
    )
    return True
