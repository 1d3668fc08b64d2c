"""The benchmark from beginning to end: every system and seed in a process of its own, then tables, page and files."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tertulia.artefact import Manifest, create
from tertulia.corpus.ranking_set import RankingSet
from tertulia.errors import ArtefactError, ConfigurationError, InputError, TertuliaError
from tertulia.measures.ranking_names import cut_name
from tertulia.ranking.benchmark.comparing import Comparison, compare
from tertulia.ranking.benchmark.options import ENSEMBLE, BenchmarkOptions
from tertulia.ranking.benchmark.plan import Plan, make_plan
from tertulia.ranking.benchmark.processes import Outcome, run_worker
from tertulia.ranking.benchmark.protocols import CandidatesProtocol, RankingProtocol
from tertulia.ranking.benchmark.results import SystemResult, are_votes, model_of, of_scores, of_tasks, redrawing
from tertulia.ranking.benchmark.task import Task
from tertulia.ranking.benchmark.worker import FIT, SCORES, is_kept

if TYPE_CHECKING:
    from tertulia.ranking.benchmark.writing import Files

__all__ = ["BENCHMARK", "Benchmark", "Failure", "run_benchmark"]

BENCHMARK = "benchmark"

Stage = Callable[[str], AbstractContextManager[Callable[[int, int | None], None]]]


@dataclass(frozen=True)
class Failure:
    """A seed of a system that is not in the table, and why."""

    system: str
    seed: int
    reason: str


@dataclass
class Benchmark:
    """All that came of a benchmark."""

    plan: Plan
    results: list[SystemResult] = field(default_factory=list)
    comparison: Comparison | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    @property
    def held(self) -> Comparison:
        """The comparison, once there is one."""
        if self.comparison is None:
            raise InputError("no system has been compared yet")
        return self.comparison


def run_benchmark(
    path: str | Path,
    output: str | Path,
    options: BenchmarkOptions,
    *,
    command: list[str] | None = None,
    overwrite: bool = False,
    stage: Stage | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> Benchmark:
    """Compare rankers on a ranking set, and write the artefact ``benchmark`` at ``output``.

    What has been fitted and scored is kept in the cache, so that the same call after an interruption goes on where it was. A
    system that fails is reported, and the rest go on.

    Parameters
    ----------
    stage:
        Opens a progress display of a name; it gives a function of steps done and their total.
    say:
        Is told, a line at a time, what became of each system.

    Raises
    ------
    InputError
        The set cannot be read, a split is empty, or no system is left to compare.
    ConfigurationError
        An option does not hold.
    ArtefactError
        The output cannot be written.
    MissingExtraError
        The package that draws plots is not installed.
    """
    from tertulia.ranking.benchmark.plots import check_drawing
    from tertulia.ranking.benchmark.writing import Files

    check_drawing()
    output = Path(output)
    manifest = Manifest(BENCHMARK, command=command or [], seed=options.seed)
    with ExitStack() as opened:
        source = opened.enter_context(RankingSet(path, check_digests=True))
        # Entered first: that the output can be written is to be known before hours are spent.
        draft = opened.enter_context(create(output, manifest, overwrite=overwrite))
        plan = make_plan(source, output, options)
        found = Benchmark(plan)
        say(_intention(plan))
        _outside(found, say)
        for system in plan.systems:
            _system(found, system, stage, say)
        found.results = _in_order(found)
        if not found.results:
            reasons = {**{each.system: each.reason for each in found.failures}, **found.left_out}
            raise InputError(
                "no system is left to compare: " + "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
            )
        found.comparison = _compared(found, stage, say)
        files: Files = Files(found, draft.directory)
        files.write()
        manifest.options = plan.options_json()
        manifest.inputs = [plan.set_input]
        manifest.licence, manifest.citation = source.manifest.licence, source.manifest.citation
        manifest.counts = {"systems": len(found.results), **plan.protocol.describe()}
        manifest.details = {
            "splits": plan.splits.how,
            "left_out": found.left_out,
            "failed": [[each.system, each.seed, each.reason] for each in found.failures],
        }
    return found


def _intention(plan: Plan) -> str:
    splits = " / ".join(f"{len(part):,}" for part in plan.folds[0][:3])
    ranked = plan.protocol.describe()
    return (
        f"{splits} contexts of train / dev / test ({plan.splits.how}); {ranked['candidates']:,} candidates to rank; "
        f"texts read as {plan.wording.language}; tuned on dev for MAP at relevance {cut_name(plan.cut)}"
    )


def _outside(found: Benchmark, say: Callable[[str], None]) -> None:
    """Runs of outside systems, read before anything is fitted: what is wrong with a file is said at once."""
    from tertulia.ranking.runs import read_run

    plan = found.plan
    others = [example.id for part in (plan.splits.train, plan.splits.dev) for example in part]
    for name, path in plan.options.runs.items():
        protocol = plan.protocol
        if not isinstance(protocol, CandidatesProtocol):
            raise InputError("a run ranks the candidates of a set alone", where=path)
        read = read_run(path, protocol.examples, others=others)
        scores = [read.scores.get(example.id) for example in protocol.examples]
        missing = sum(each is None for each in scores)
        note = f"{missing:,} of {len(scores):,} contexts have no answer, and count 0" if missing else ""
        found.results.append(of_scores(protocol, plan.measures, name, protocol.kept(scores), note))
        say(f"{name}: read from {path}" + (f"; {note}" if note else ""))


def _system(found: Benchmark, system: str, stage: Stage | None, say: Callable[[str], None]) -> None:
    """Fit a system with every seed and take its result; what goes wrong is noted."""
    done: list[list[Task]] = []
    for seed in found.plan.seeds:
        tasks, goes_on = _seed(found, system, seed, stage, say)
        if len(tasks) == len(found.plan.folds):
            done.append(tasks)
        if not goes_on:
            break
    if not done:
        return
    plan = found.plan
    parts: list[RankingProtocol] = [plan.protocol]
    if len(plan.folds) > 1:
        parts = [CandidatesProtocol(fold.test) for fold in plan.folds]
    try:
        found.results.append(of_tasks(parts, plan.protocol, plan.measures, done))
    except (ArtefactError, KeyError, TypeError, ValueError) as error:
        reason = error.one_line() if isinstance(error, TertuliaError) else f"what it has kept does not hold: {error!r}"
        found.failures.append(Failure(system, done[0][0].seed, reason))
        say(f"{system}: failed: {reason}")


def _seed(
    found: Benchmark, system: str, seed: int, stage: Stage | None, say: Callable[[str], None]
) -> tuple[list[Task], bool]:
    """The tasks of a seed, one a fold, that were done before one was not; and whether another seed is to be tried."""
    plan = found.plan
    done: list[Task] = []
    for fold in range(len(plan.folds)):
        of = f"{system}, seed {seed}" + (f", fold {fold + 1} of {len(plan.folds)}" if len(plan.folds) > 1 else "")
        try:
            task = plan.task(system, seed, fold, _trained(found, seed, fold) if system == ENSEMBLE else {})
        except ConfigurationError as error:
            # It cannot be imported.
            found.left_out[system] = error.one_line()
            say(f"{system}: left out: {error.one_line()}")
            return done, False
        outcome, took = _done(task, of, plan, stage)
        if outcome.kind == "done":
            done.append(task)
            say(f"{of}: {took}")
            continue
        if outcome.kind == "left out":
            found.left_out[system] = outcome.reason
            say(f"{system}: left out: {outcome.reason}")
            return done, False
        found.failures.append(Failure(system, seed, outcome.reason))
        say(f"{of}: failed: {outcome.reason} (details in {task.log_file})")
        # Another seed would take as long.
        return done, not outcome.over_time
    return done, True


def _trained(found: Benchmark, seed: int, fold: int) -> dict[str, str]:
    """Where the rankers that were fitted with a seed lie."""
    return {
        result.name: str(model_of(found.plan.task(result.name, seed, fold, {})))
        for result in found.results
        if not result.outside and seed in result.seeds
    }


def _done(task: Task, label: str, plan: Plan, stage: Stage | None) -> tuple[Outcome, str]:
    if is_kept(task.fit_directory, FIT) and is_kept(task.scores_directory, SCORES):
        return Outcome("done"), "there already"
    began = time.monotonic()
    limit = plan.options.limit_minutes
    with _Stages(label, stage) as progress:
        outcome = run_worker(
            task.to_json(),
            task.log_file,
            workers=plan.options.workers,
            limit_s=None if limit is None else limit * 60,
            progress=progress,
        )
    return outcome, f"fitted and scored in {time.monotonic() - began:.1f} s"


class _Stages:
    """Shows one progress display after another, as the stages of a process change."""

    def __init__(self, label: str, stage: Stage | None) -> None:
        self._label, self._stage = label, stage
        self._opened = ExitStack()
        self._name: str | None = None
        self._seen = 0

    def __enter__(self) -> Callable[[str, int, int | None], None]:
        return self._tell

    def __exit__(self, *_error: object) -> None:
        self._opened.close()

    def _tell(self, name: str, done: int, total: int | None) -> None:
        if self._stage is None:
            return
        if name != self._name:
            self._opened.close()
            self._name, self._seen = name, 0
            self._advance = self._opened.enter_context(self._stage(f"{self._label}: {name}"))
        self._advance(done - self._seen, total)
        self._seen = done


def _in_order(found: Benchmark) -> list[SystemResult]:
    """Rankers as they were listed, an ensemble of them after runs from outside."""
    own = [result for result in found.results if not result.outside]
    outside = [result for result in found.results if result.outside]
    last = [result for result in own if result.name == ENSEMBLE]
    return [*(result for result in own if result.name != ENSEMBLE), *outside, *last]


def _compared(found: Benchmark, stage: Stage | None, say: Callable[[str], None]) -> Comparison:
    plan, options = found.plan, found.plan.options
    redrawn = None
    if are_votes(plan.protocol):
        redrawn = redrawing(plan.protocol, plan.measures, found.results, options.replicates, options.seed)
        say("relevance is an estimate from votes: the intervals hold the uncertainty of that too")
    with _Stages("comparing", stage) as progress:
        return compare(
            [result.name for result in found.results],
            plan.measures,
            [example.id for example in plan.protocol.examples],
            [result.values for result in found.results],
            plan.protocol.relevances,
            baseline=options.baseline,
            confidence=options.confidence,
            replicates=options.replicates,
            permutations=options.permutations,
            seed=options.seed,
            redrawn=redrawn,
            progress=progress,
        )
