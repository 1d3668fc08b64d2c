"""What computes the vectors of texts that are token numbers already: a graph by onnxruntime, or a transformer by torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tertulia.encoders.runtime import device_of, load_torch
from tertulia.encoders.sentence_models import Pooling, SentenceModel
from tertulia.errors import ArtefactError, MissingExtraError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OnnxRunner", "Runner", "TransformerRunner", "open_runner", "pool"]

_EXTRA = "full"
# So many tokens in one call: more gain nothing, for the products are at the speed of the processor by then.
_TOKENS = 512
_TOKENS_GPU = 16_384


class Runner(Protocol):
    """Computes the vectors of texts of one length.

    ``tokens`` is how many tokens of texts of one length may go in one call without a vector depending on its companions; 1: every
    text goes alone. ``parallel`` says whether several calls may run at a time.
    """

    tokens: int
    parallel: bool

    def run(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors, of shape (texts, dimension), of token numbers, of shape (texts, tokens)."""
        ...


def open_runner(model: SentenceModel, workers: int, device: str) -> Runner:
    """What runs a model; raises ``MissingExtraError`` and ``ArtefactError``."""
    if model.kind == "onnx":
        return OnnxRunner(model)
    return TransformerRunner(model, workers, device)


def pool(hidden: NDArray[np.float32], pooling: Pooling) -> NDArray[np.float32]:
    """Vectors of texts (texts, dimension) from those of their tokens (texts, tokens, dimension), all of which count."""
    if pooling == "cls":
        return np.ascontiguousarray(hidden[:, 0])
    # One text at a time: a sum over an axis of a larger array may be taken in another order.
    reduce = np.max if pooling == "max" else np.mean
    return np.stack([reduce(each, axis=0) for each in hidden]).astype(np.float32, copy=False)


class OnnxRunner:
    """A graph by onnxruntime, on the processor, one thread a call."""

    parallel = True

    def __init__(self, model: SentenceModel) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise MissingExtraError(f"the sentence model {model.name!r}", package="onnxruntime", extra=_EXTRA) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # Errors are raised; what it writes to stderr besides is nothing that a user can act upon.
        options.log_severity_level = 4
        self._pooling = model.pooling
        self._where = where = model.files["model.onnx"]
        try:
            self._session = onnxruntime.InferenceSession(str(where), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            # onnxruntime has a class of errors for each of its states, without a common one of its own.
            raise ArtefactError(f"cannot be loaded by onnxruntime: {_first_line(error)}", where=where) from None
        self._inputs = [each.name for each in self._session.get_inputs()]
        if not {"input_ids"} <= set(self._inputs) <= {"input_ids", "attention_mask", "token_type_ids", "position_ids"}:
            said = ", ".join(self._inputs) or "none"
            raise ArtefactError(f"has the inputs {said}; expected input_ids and attention_mask", where=where)
        outputs = [each.name for each in self._session.get_outputs()]
        self._output = next(
            (name for name in ("sentence_embedding", "last_hidden_state") if name in outputs), outputs[0]
        )
        self.tokens = _TOKENS
        self.tokens = _TOKENS if self._is_exact() else 1

    def run(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of texts of one length."""
        made = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        try:
            found = self._session.run([self._output], {name: made[name] for name in self._inputs})[0]
        except Exception as error:
            raise ArtefactError(f"fails on a text: {_first_line(error)}", where=self._where) from None
        if not isinstance(found, np.ndarray) or found.ndim not in (2, 3) or len(found) != len(ids):
            raise ArtefactError(
                f"gives {self._output!r} in a shape that is not (texts, tokens, numbers)", where=self._where
            )
        found = found.astype(np.float32, copy=False)
        return found if found.ndim == 2 else pool(found, self._pooling)

    def _is_exact(self) -> bool:
        """Whether vectors come out the same, to the bit, alone and in company.

        They do not where a graph quantises its activations by the range of all that is in the call, which published graphs
        of 8 bits do.
        """
        # Low numbers, which every vocabulary has.
        sample = np.array([[1, 2, 3, 4, 5], [5, 9, 7, 6, 3], [8, 8, 8, 8, 8], [1, 6, 2, 4, 9]], dtype=np.int64)
        try:
            together = self.run(sample)
            return all(np.array_equal(together[i], self.run(sample[i : i + 1])[0]) for i in range(len(sample)))
        except ArtefactError:
            # A vocabulary of fewer than ten; texts then go alone.
            return False


class TransformerRunner:
    """A checkpoint by transformers and torch; on the processor one text at a time, on a GPU many of a length."""

    parallel = False

    def __init__(self, model: SentenceModel, workers: int, device: str) -> None:
        feature = f"the sentence model {model.name!r}"
        torch = load_torch(feature)
        self._torch, self._workers = torch, max(1, workers)
        self._device = device_of(device)
        self._pooling = model.pooling
        self._where = model.files["config.json"].parent
        self._model = load_checkpoint(model.files["config.json"].parent, feature, kind="AutoModel")
        self._model.to(self._device).eval()
        self.tokens = _TOKENS_GPU if self._device.type == "cuda" else 1

    def run(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of texts of one length."""
        torch = self._torch
        given = torch.from_numpy(ids).to(self._device)
        threads = torch.get_num_threads()
        torch.set_num_threads(self._workers)
        try:
            with torch.inference_mode():
                hidden = self._model(input_ids=given, attention_mask=torch.ones_like(given)).last_hidden_state
        except (RuntimeError, IndexError, AttributeError) as error:
            raise ArtefactError(f"fails on a text: {_first_line(error)}", where=self._where) from None
        finally:
            torch.set_num_threads(threads)
        return pool(hidden.float().cpu().numpy(), self._pooling)


def load_checkpoint(directory: Path, feature: str, *, kind: str, **options: Any) -> Any:
    """The torch module of a local checkpoint, its weights from safetensors alone, by a class of transformers.

    Nothing is downloaded, and no code that comes with a checkpoint is run.

    Raises
    ------
    MissingExtraError
        transformers or torch is not installed.
    ArtefactError
        It cannot be loaded.
    """
    load_torch(feature)
    try:
        import transformers
        from transformers.utils import logging
    except ImportError:
        raise MissingExtraError(feature, package="transformers", extra="neural") from None
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        json.loads((directory / "config.json").read_bytes())
        return getattr(transformers, kind).from_pretrained(
            directory, local_files_only=True, use_safetensors=True, trust_remote_code=False, **options
        )
    except Exception as error:
        # What transformers, safetensors and torch raise of a damaged checkpoint has no common class.
        raise ArtefactError(f"cannot be loaded by transformers: {_first_line(error)}", where=directory) from None
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _first_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
