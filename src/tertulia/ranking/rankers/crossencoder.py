"""A transformer that reads prompt and response together: a local checkpoint, fine-tuned on the candidates of each context."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tertulia.encoders.runtime import device_of, load_torch, reproducible
from tertulia.encoders.sentence_models import find_checkpoint
from tertulia.encoders.sentence_runners import load_checkpoint
from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tertulia.ranking.listwise import teaching
from tertulia.ranking.model import read_head, write_head
from tertulia.ranking.ranker import FitRun, Setting, chosen_settings
from tertulia.ranking.rankers.pair_tokens import PairTokens
from tertulia.ranking.rankers.pair_transformer import PairTransformer, distinct_pairs
from tertulia.ranking.tuning import combinations

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["CrossEncoder"]

_FEATURE = "the ranker 'crossencoder'"
# Examples whose candidates are batched together when scored.
_EXAMPLES = 64
_LARGEST_GRADIENT = 1.0

Listed = tuple["Example", "NDArray[np.float64]"]


class CrossEncoder:
    """Fine-tuned with a listwise loss, by AdamW with a warm-up; the weights that were best on dev are kept."""

    name: ClassVar[str] = "crossencoder"
    summary: ClassVar[str] = "a transformer that reads prompt and response together, fine-tuned from a local checkpoint"
    supervised: ClassVar[bool] = True
    known_settings: ClassVar[Mapping[str, Setting]] = {
        "checkpoint": Setting("", "what is fine-tuned: minilm (English), or the path of a checkpoint's directory"),
        "max_tokens": Setting(128, "tokens of prompt and response together; of a longer prompt the end counts", low=8),
        "epochs": Setting(2, "how many times all contexts are gone through, at most", low=1, high=1000),
        "learning_rate": Setting(5e-5, "the highest step size of AdamW", tried=(5e-5, 2e-5, 1e-4), low=1e-8, high=1),
        "batch": Setting(8, "contexts between two steps", low=1),
        "accumulation": Setting(1, "parts that a batch is computed in: more parts need less memory", low=1),
        "candidates": Setting(6, "candidates of a context that a step looks at, drawn anew each time", low=2),
        "contexts": Setting(0, "contexts of train that are used, drawn by the seed; 0 for all", low=0),
        "checks": Setting(2, "how many times an epoch the quality on dev is looked at", low=1),
        "patience": Setting(2, "looks at dev without a gain after which training ends", low=1),
        "warmup": Setting(0.1, "the share of the steps in which the step size grows", low=0.0, high=1.0),
        "decay": Setting(0.01, "weight decay", low=0.0, high=1.0),
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self._fixed = frozenset(settings or ())
        self._report: dict[str, Any] = {}
        self._network: PairTransformer | None = None

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:
        """Fine-tune the checkpoint; raises as ``Ranker.fit`` says, and ``ConfigurationError`` where no checkpoint is named."""
        if not self.settings["checkpoint"]:
            raise ConfigurationError(
                "the ranker 'crossencoder' fine-tunes a transformer, and the setting 'checkpoint' names none; expected "
                "minilm (English) or the path of a directory with config.json, model.safetensors and tokenizer.json"
            )
        load_torch(_FEATURE)
        directory = find_checkpoint(self.settings["checkpoint"], _FEATURE)
        listed = teaching(train)
        if not listed:
            raise InputError(
                "no context of train says which of its candidates is better, so there is nothing to learn from"
            )
        device = device_of(run.device)
        found: list[tuple[float, dict[str, Any], dict[str, Any], PairTransformer]] = []
        tried = []
        for settings in combinations(self.known_settings, run.trials, run.seed, start=self.settings, fixed=self._fixed):
            with reproducible(run.seed, device, run.workers):
                network = _begin(directory, settings, run, device)
                quality, report = _train(network, settings, listed, dev, run)
            tried.append({"learning_rate": settings["learning_rate"], "quality": quality})
            if not found or quality > found[0][0]:
                found = [(quality, settings, report, network)]
        _, self.settings, report, self._network = found[0]
        self._report = {**report, "tried": tried}

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """The number that the head gives for each pair of prompt and candidate."""
        yield from _scores(self._fitted(), examples)

    def save(self, directory: Path) -> None:
        """Write the checkpoint (safetensors, config, tokenizer), the settings and the wording."""
        network = self._fitted()
        write_head(directory, self, network.wording, report=self._report)
        network.save(directory)

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The ranker that was saved, on a GPU where there is one; raises as ``Ranker.load`` says."""
        load_torch(_FEATURE)
        head = read_head(directory, cls)
        ranker = cls(head.settings)
        report = head.more.get("report")
        if not isinstance(report, dict):
            raise ArtefactError("has no report", where=directory, hint="train it again")
        ranker._report = report
        ranker._network = PairTransformer.load(directory, ranker.settings["max_tokens"], head.wording, _FEATURE)
        return ranker

    def report(self) -> dict[str, Any]:
        """How training went: steps, the quality on dev at each look, where it was best, the size of the model."""
        return self._report

    def _fitted(self) -> PairTransformer:
        if self._network is None:
            raise ConfigurationError("the ranker 'crossencoder' has not been fitted; expected fit or load before")
        return self._network


def _begin(directory: Path, settings: Mapping[str, Any], run: FitRun, device: torch.device) -> PairTransformer:
    """The checkpoint as it is, with a new head where it has none for one number."""
    model = load_checkpoint(
        directory, _FEATURE, kind="AutoModelForSequenceClassification", num_labels=1, ignore_mismatched_sizes=True
    )
    positions = getattr(model.config, "max_position_embeddings", None)
    if isinstance(positions, int) and settings["max_tokens"] > positions:
        raise ConfigurationError(
            f"the setting 'max_tokens' is {settings['max_tokens']}; expected at most {positions}, for which the checkpoint has "
            "positions"
        )
    tokens = PairTokens(directory / "tokenizer.json", settings["max_tokens"], _FEATURE)
    return PairTransformer(model, tokens, run.wording, device)


def _train(
    network: PairTransformer, settings: Mapping[str, Any], listed: list[Listed], dev: Sequence[Example], run: FitRun
) -> tuple[float, dict[str, Any]]:
    """Fine-tune; the best quality on dev, whose weights are kept, and what there is to say."""
    import torch

    model = network.model
    random = np.random.default_rng(run.seed)
    if 0 < settings["contexts"] < len(listed):
        drawn = random.choice(len(listed), settings["contexts"], replace=False)
        listed = [listed[number] for number in np.sort(drawn).tolist()]
    size = settings["batch"]
    epoch_steps = math.ceil(len(listed) / size)
    steps = epoch_steps * settings["epochs"]
    optimizer = _optimizer(model, settings["learning_rate"], settings["decay"])
    warm = max(1, round(steps * settings["warmup"]))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))
    )
    looks = {math.ceil(epoch_steps * (look + 1) / settings["checks"]) for look in range(settings["checks"])}
    best = _Best(settings["patience"])
    run.progress("training", 0, steps)
    step, losses, history = 0, [], []
    for _ in range(settings["epochs"]):
        order = random.permutation(len(listed)).tolist()
        for number in range(epoch_steps):
            batch = [listed[place] for place in order[number * size : (number + 1) * size]]
            model.train()
            losses.append(_step(network, batch, settings, optimizer, random))
            schedule.step()
            step += 1
            run.progress("training", 1, steps)
            if number + 1 in looks and not best.over:
                quality = run.quality(dev, _scores(network, dev))
                history.append({"step": step, "loss": round(float(np.mean(losses)), 6), "quality": quality})
                losses = []
                best.offer(quality, model)
        if best.over:
            break
    best.restore(model)
    numbers = sum(parameter.numel() for parameter in model.parameters())
    report = {"contexts": len(listed), "steps": step, "looks": history, "parameters": numbers}
    return best.quality, report | {"device": network.device.type}


def _step(
    network: PairTransformer,
    batch: list[Listed],
    settings: Mapping[str, Any],
    optimizer: torch.optim.Optimizer,
    random: np.random.Generator,
) -> float:
    """One step of the optimiser on a batch; the mean loss of its contexts."""
    import torch

    optimizer.zero_grad(set_to_none=True)
    size = math.ceil(len(batch) / settings["accumulation"])
    total = 0.0
    for start in range(0, len(batch), size):
        part = [
            _drawn(example, target, settings["candidates"], random) for example, target in batch[start : start + size]
        ]
        pairs = [pair for texts, example, _ in part for pair in network.tokens.pairs(network.wording, example, texts)]
        distinct, places = distinct_pairs(pairs)
        scores = network.forward(distinct)[places]
        ends = np.cumsum([len(target) for _, _, target in part])[:-1].tolist()
        loss = torch.zeros((), device=scores.device)
        for values, (_, _, target) in zip(torch.tensor_split(scores, ends), part, strict=True):
            aim = torch.as_tensor(target, dtype=values.dtype, device=values.device)
            loss = loss - (aim * torch.log_softmax(values, dim=0)).sum() / len(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    torch.nn.utils.clip_grad_norm_(network.model.parameters(), _LARGEST_GRADIENT)
    optimizer.step()
    return total


def _scores(network: PairTransformer, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
    stream = iter(examples)
    while some := list(islice(stream, _EXAMPLES)):
        yield from network.score(some)


class _Best:
    """The weights that were best on dev so far, and whether it is time to stop."""

    def __init__(self, patience: int) -> None:
        self.quality = -math.inf
        self.patience = patience
        self.since = 0
        self._weights: dict[str, Any] = {}

    @property
    def over(self) -> bool:
        return self.since >= self.patience

    def offer(self, quality: float, model: torch.nn.Module) -> None:
        if quality > self.quality:
            self.quality, self.since = quality, 0
            self._weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
        else:
            self.since += 1

    def restore(self, model: torch.nn.Module) -> None:
        model.load_state_dict(self._weights)
        model.eval()


def _optimizer(model: torch.nn.Module, rate: float, decay: float) -> torch.optim.Optimizer:
    """AdamW; biases and the scales of layer norms do not decay, as is usual."""
    import torch

    parameters = list(model.parameters())
    groups = [
        {"params": [parameter for parameter in parameters if parameter.ndim > 1], "weight_decay": decay},
        {"params": [parameter for parameter in parameters if parameter.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate)


def _drawn(
    example: Example, target: NDArray[np.float64], most: int, random: np.random.Generator
) -> tuple[list[str], Example, NDArray[np.float64]]:
    """At most ``most`` candidates, the best among them, the others drawn; with their shares, which sum to 1 again."""
    if len(target) <= most:
        return list(example.texts), example, target
    best = int(np.argmax(target))
    others = np.delete(np.arange(len(target)), best)
    places = np.sort(np.append(random.choice(others, most - 1, replace=False), best))
    return [example.texts[place] for place in places.tolist()], example, target[places] / target[places].sum()
