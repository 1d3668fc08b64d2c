"""What a benchmark will do: the set as it is divided, the systems, measures and tasks, decided before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.artefact import digest_of_path
from tertulia.errors import ConfigurationError, InputError
from tertulia.ranking.benchmark.options import ENSEMBLE, BenchmarkOptions, base_name, benchmark_systems
from tertulia.ranking.benchmark.protocols import RankingProtocol, protocol_of
from tertulia.ranking.benchmark.task import Task, digest_of_model, source_digest
from tertulia.ranking.evaluate import measures_of
from tertulia.ranking.examples import Splits, load_splits
from tertulia.ranking.folds import load_folds
from tertulia.ranking.quality import default_cuts
from tertulia.ranking.training import default_tuning_cut, suitable_sentence_model
from tertulia.ranking.wording import Wording, guess_language

if TYPE_CHECKING:
    from tertulia.corpus.ranking_set import RankingSet
    from tertulia.measures.ranking_names import Measure

__all__ = ["Plan", "default_cache", "make_plan"]


def default_cache() -> Path:
    """Where models and scores are kept unless a user names another folder."""
    from platformdirs import user_cache_path

    return user_cache_path("tertulia") / "benchmark"


@dataclass(frozen=True)
class Plan:
    """Everything that is decided before the first fit.

    ``cut`` is what is tuned for on dev; ``systems`` are the rankers in the order in which they are fitted and listed.
    ``set_input`` is what a manifest says of the set. ``folds`` are the divisions of the set, one unless it is cross-validated;
    ``splits`` are train and dev of the first, and all that is test in any.
    """

    set_path: Path
    set_input: dict[str, Any]
    title: str
    folds: tuple[Splits, ...]
    splits: Splits
    protocol: RankingProtocol
    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    cuts: tuple[float, ...]
    cut: float
    wording: Wording
    sentence_model: str | None
    cache: Path
    options: BenchmarkOptions

    @property
    def seeds(self) -> range:
        """The seeds of the fits."""
        return range(self.options.seed, self.options.seed + self.options.seeds)

    def task(self, system: str, seed: int, fold: int, trained: dict[str, str]) -> Task:
        """The task of a system, a seed and a fold; an ensemble may use the fits in ``trained``."""
        options = self.options
        given = options.settings_of(system)
        named = {f"setting:{name}": digest_of_model(value) for name, value in given.items()}
        named["sentence_model"] = digest_of_model(self.sentence_model)
        return Task(
            system=system,
            seed=seed,
            set_path=str(self.set_path.absolute()),
            set_digest=str(self.set_input["sha256"]),
            split_seed=options.split_seed,
            folds=options.folds,
            fold=fold,
            settings=given,
            wording=self.wording.to_json(),
            cut=self.cut,
            trials=options.trials,
            workers=options.workers,
            device=options.device,
            sentence_model=self.sentence_model,
            protocol=self.protocol.name,
            pool=options.pool,
            cache=str(self.cache.absolute()),
            source=source_digest(system),
            trained=trained if system == ENSEMBLE else {},
            materials={name: digest for name, digest in named.items() if digest is not None},
        )

    def options_json(self) -> dict[str, Any]:
        """What was asked for and what was decided, without paths."""
        options = self.options
        return {
            "rankers": list(self.systems),
            "seeds": options.seeds,
            "trials": options.trials,
            "measures": [str(measure) for measure in self.measures],
            "tuned_for": self.cut,
            "folds": options.folds,
            "protocol": self.protocol.name,
            "pool": options.pool,
            "runs": sorted(options.runs),
            "settings": {
                system: {name: base_name(value) for name, value in given.items()}
                for system in self.systems
                if (given := options.settings_of(system))
            },
            "wording": self.wording.to_json(),
            "sentence_model": base_name(self.sentence_model),
            "device": options.device,
            "workers": options.workers,
            "split_seed": options.split_seed,
            "baseline": options.baseline,
            "confidence": options.confidence,
            "replicates": options.replicates,
            "permutations": options.permutations,
        }


def make_plan(source: RankingSet, output: Path, options: BenchmarkOptions) -> Plan:
    """Decide what the options leave open, and read the set.

    Raises
    ------
    ConfigurationError
        An option does not hold.
    InputError
        A split is empty, or there is nothing to measure.
    """
    options.check()
    systems = benchmark_systems(options)
    cache = options.cache or default_cache()
    _check_cache(cache, output, source.path)
    if options.folds is None:
        folds = [load_splits(source, seed=options.split_seed)]
    else:
        folds = load_folds(source, options.folds, seed=options.split_seed)
    first = folds[0]
    splits = Splits(first.train, first.dev, [example for fold in folds for example in fold.test], first.how)
    # Of folds each context is test once, so that these are all.
    everything = splits.test if len(folds) > 1 else [*splits.train, *splits.dev, *splits.test]
    cuts = tuple(sorted(set(options.cuts))) or default_cuts(everything)
    measures = tuple(measures_of(everything, options.measures, cuts))
    language = guess_language([*splits.train, *splits.dev]) if options.language == "auto" else options.language
    wording = Wording(language, options.turns, options.decay)
    cut = default_tuning_cut(splits) if options.tuned_for is None else options.tuned_for
    protocol = protocol_of(options.protocol, splits.test, pool=options.pool, seed=options.split_seed)
    _check_relevance(measures, protocol, source.path)
    return Plan(
        source.path,
        digest_of_path(source.path),
        source.path.absolute().name,
        tuple(folds),
        splits,
        protocol,
        tuple(systems),
        measures,
        cuts,
        cut,
        wording,
        suitable_sentence_model(options.sentence_model, wording.language),
        cache,
        options,
    )


def _check_cache(cache: Path, output: Path, source: Path) -> None:
    for place, what in [
        (output, "the output, which is replaced as a whole"),
        (source, "the set, which is left as it is"),
    ]:
        if cache.resolve().is_relative_to(place.resolve()):
            raise ConfigurationError(f"lies inside {what}", where=cache, hint="--cache names another folder")
    if cache.exists() and not cache.is_dir():
        raise ConfigurationError("is a file; expected a folder", where=cache, hint="--cache names another folder")


def _check_relevance(measures: Sequence[Measure], protocol: RankingProtocol, path: Path) -> None:
    """Refuse a test split that no measure can say anything of, before hours are spent on it."""
    best = max(
        (float(relevance[relevance == relevance].max(initial=0)) for relevance in protocol.relevances), default=0
    )
    if not any(best >= (measure.cut or 1e-300) for measure in measures):
        raise InputError(
            "has no context in the split test with a candidate that reaches a cut",
            where=path,
            hint="--cuts names others",
        )
