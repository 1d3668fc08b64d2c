"""From a ranking set to a ranker on disk: how texts are read, what is tuned for, and what the manifest keeps of it."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.artefact import Draft, Manifest, create, digest_of_path
from tertulia.corpus.ranking_set import RankingSet
from tertulia.errors import ConfigurationError, MissingExtraError
from tertulia.measures.ranking_names import Measure
from tertulia.ranking.examples import Splits, load_splits
from tertulia.ranking.model import RANKER
from tertulia.ranking.quality import default_cuts, map_at
from tertulia.ranking.ranker import FitRun, Progress, Ranker
from tertulia.ranking.registry import RANKERS
from tertulia.ranking.wording import Wording, guess_language

if TYPE_CHECKING:
    from tertulia.ranking.examples import Example

__all__ = ["Trained", "TrainingOptions", "default_tuning_cut", "suitable_sentence_model", "train_ranker"]

# A quality on fewer contexts than this says little.
_ENOUGH = 20
_DEVICES = ("auto", "cpu", "cuda")
# What computes the vectors of a packaged sentence model, by its kind.
_RUNTIMES = {"onnx": ("onnxruntime", "tokenizers"), "transformer": ("torch", "transformers", "safetensors")}


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """How a ranker is to be trained; what is not said here is a setting of the ranker.

    Attributes
    ----------
    language, turns, decay:
        As of ``Wording``; the language may be ``auto``.
    cut:
        The relevance whose MAP on dev is tuned for; ``None`` for the one that ``default_tuning_cut`` takes.
    seed:
        The same seed gives the same model on the same machine.
    trials:
        How many combinations of settings may be tried on dev.
    workers, device:
        As of ``FitRun``.
    sentence_model:
        ``auto`` (one that suits the language, where its packages are installed), ``none``, a name or a path.
    cache:
        Where vectors of texts are kept for the next time; ``None`` for nowhere.
    split_seed:
        How a set without splits is divided.
    """

    language: str = "auto"
    turns: int | None = None
    decay: float = 0.5
    cut: float | None = None
    seed: int = 0
    trials: int = 8
    workers: int = 1
    device: str = "auto"
    sentence_model: str = "auto"
    cache: Path | None = None
    split_seed: int = 0

    def check(self) -> None:
        """Refuse what has no meaning.

        Raises
        ------
        ConfigurationError
            A number is out of range, or there is no such device.
        """
        for name, value, low in [
            ("trials", self.trials, 1),
            ("workers", self.workers, 1),
            ("the seed", self.seed, 0),
            ("the seed of the splits", self.split_seed, 0),
        ]:
            if value < low:
                raise ConfigurationError(f"{name} is {value}; expected a whole number from {low}")
        if self.device not in _DEVICES:
            raise ConfigurationError(f"the device is {self.device!r}; expected {', '.join(_DEVICES)}")
        if self.cut is not None and not math.isfinite(self.cut):
            raise ConfigurationError(f"the cut is {self.cut}; expected a finite number")


@dataclass(frozen=True, slots=True)
class Trained:
    """What came of training: the fitted ranker, its quality on dev and the measure that this is, and how the set was divided."""

    ranker: Ranker
    measure: Measure
    quality: float
    told_by: int
    """How many dev contexts say something of an order at the cut: they have a positive candidate and another."""
    wording: Wording
    sentence_model: str | None
    splits: dict[str, int] = field(default_factory=dict)
    how: str = ""


def train_ranker(
    name: str,
    source: str | Path,
    output: str | Path,
    settings: Mapping[str, Any] | None = None,
    options: TrainingOptions | None = None,
    *,
    trained: Mapping[str, Path] | None = None,
    overwrite: bool = False,
    progress: Progress = lambda _stage, _done, _total: None,
) -> Trained:
    """Fit the ranker of that name on the train split of a ranking set, tuned on dev, and keep it at ``output``.

    The test split is not looked at. ``trained`` names directories of rankers that were fitted on the same set, for an ensemble.

    Raises
    ------
    ConfigurationError
        There is no such ranker or setting, or an option does not hold.
    InputError
        The set has no contexts, or nothing in it can be learned from.
    MissingExtraError
        The ranker needs a package that is not installed.
    ArtefactError
        The set is damaged, or ``output`` cannot be written.
    """
    options = options or TrainingOptions()
    options.check()
    factory: type[Ranker] = RANKERS.factory(name)
    # What is wrong with the settings or with the output is said before anything is read: hours of training must not be lost.
    ranker = factory(dict(settings or {}))
    manifest = Manifest(RANKER, seed=options.seed)
    with create(output, manifest, overwrite=overwrite) as draft:
        with RankingSet(source, check_digests=True) as opened:
            manifest.inputs = [digest_of_path(Path(source))]
            manifest.licence, manifest.citation = opened.manifest.licence, opened.manifest.citation
            splits = load_splits(opened, seed=options.split_seed, needed=("train", "dev"))
        cut = default_tuning_cut(splits) if options.cut is None else options.cut
        run = _fit_run(splits, cut, options, trained or {}, progress)
        ranker.fit(splits.train, splits.dev, run)
        done = Trained(
            ranker,
            Measure("MAP", None, cut),
            run.quality(splits.dev, ranker.score(splits.dev)),
            sum(_tells(example, cut) for example in splits.dev),
            run.wording,
            run.sentence_model,
            {"train": len(splits.train), "dev": len(splits.dev), "test": len(splits.test)},
            splits.how,
        )
        manifest.command = ["tertulia", "ranking", "train", name, Path(source).resolve().name]
        manifest.options = _options(options, settings or {})
        manifest.counts = {"contexts": len(splits.train), "candidates": sum(map(len, splits.train))}
        manifest.details = {
            "wording": run.wording.to_json(),
            "sentence_model": _name(run.sentence_model),
            "dev": {"measure": str(done.measure), "value": done.quality, "contexts": done.told_by},
            "splits": splits.how,
        }
        _write(ranker, draft)
    return done


def _write(ranker: Ranker, draft: Draft) -> None:
    """As ``save_ranker`` does, in an artefact that is being written."""
    draft.manifest.details |= {"ranker": ranker.name, "settings": ranker.settings, "report": ranker.report()}
    ranker.save(draft.directory)


def _fit_run(
    splits: Splits, cut: float, options: TrainingOptions, trained: Mapping[str, Path], progress: Progress
) -> FitRun:
    language = guess_language([*splits.train, *splits.dev]) if options.language == "auto" else options.language
    return FitRun(
        Wording(language, options.turns, options.decay),
        map_at(cut),
        options.seed,
        options.trials,
        options.workers,
        options.device,
        suitable_sentence_model(options.sentence_model, language),
        options.cache,
        dict(trained),
        progress,
    )


def _options(options: TrainingOptions, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The options as the manifest has them: a path is a matter of the machine, what lies there is in the model's own files."""
    kept = asdict(options)
    del kept["workers"], kept["cache"], kept["seed"]
    kept["sentence_model"] = _name(options.sentence_model)
    return {**kept, "settings": {key: _name(value) for key, value in settings.items()}}


def _name(value: Any) -> Any:
    return Path(value).name if isinstance(value, str) and os.sep in value else value


def default_tuning_cut(splits: Splits) -> float:
    """What is tuned for: the strictest of the cuts that suit the set at which 20 dev contexts say something of an order.

    Where there is none, it is the cut at which most do, of equal ones the strictest. A context says something where it has a
    candidate of at least that relevance and one below.
    """
    cuts = sorted(default_cuts([*splits.train, *splits.dev]), reverse=True)
    telling = [sum(_tells(example, cut) for example in splits.dev) for cut in cuts]
    enough = next((cut for cut, count in zip(cuts, telling, strict=True) if count >= _ENOUGH), None)
    return cuts[telling.index(max(telling))] if enough is None else enough


def _tells(example: Example, cut: float) -> bool:
    return 0 < int((example.relevance >= cut).sum()) < len(example)


def suitable_sentence_model(wanted: str, language: str) -> str | None:
    """The sentence model to use: the name or path that is wanted; of ``auto`` one that suits, of ``none`` none.

    With ``auto`` there is none where no packaged model is of the language, or what it needs is not installed.
    """
    if wanted != "auto":
        return None if wanted == "none" else wanted
    from tertulia.encoders.sentence_models import MODELS, default_model, find_model

    name = default_model(language)
    if name is None:
        return None
    try:
        find_model(name)
    except MissingExtraError:
        return None
    return name if all(map(_is_installed, _RUNTIMES.get(MODELS[name].kind, ()))) else None


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
