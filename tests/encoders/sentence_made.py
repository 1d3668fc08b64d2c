"""Sentence models made here: a graph of a few nodes, and a BERT of random weights, each with a tokenizer of a few words."""

from pathlib import Path

import numpy as np

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "rain",
    "sun",
    "it",
    "is",
    "was",
    "big",
    "small",
    "house",
    "car",
    "red",
    "blue",
    "you",
    "i",
    "what",
    "where",
    "why",
]


def write_tokenizer(path: Path, words: list[str] = WORDS) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    # As published tokenizers do: texts are padded to a fixed length unless told not to.
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(path))


def write_bert(directory: Path, words: list[str] = WORDS, *, hidden: int = 16, layers: int = 1, seed: int = 0) -> Path:
    """A checkpoint as transformers writes it."""
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=len(words) + 4,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=2 * hidden,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        BertModel(config).save_pretrained(directory)
    write_tokenizer(directory / "tokenizer.json", words)
    return directory


def write_onnx(
    directory: Path,
    words: list[str] = WORDS,
    *,
    ranged: bool = False,
    vocabulary: int | None = None,
    dimension: int = 8,
) -> Path:
    """A graph that looks up a vector for each token; ``ranged`` ones are scaled by the largest number of the whole call."""
    directory.mkdir(parents=True, exist_ok=True)
    table = np.random.default_rng(7).normal(size=(vocabulary or len(words) + 4, dimension)).astype("<f4")
    nodes = [_node("Gather", ["table", "input_ids"], ["hidden" if ranged else "last_hidden_state"])]
    if ranged:
        nodes.append(_node("ReduceMax", ["hidden"], ["most"], keepdims=0))
        nodes.append(_node("Div", ["hidden", "most"], ["scaled"]))
        nodes.append(_node("Floor", ["scaled"], ["floor"]))
        nodes.append(_node("Add", ["floor", "scaled"], ["last_hidden_state"]))
    graph = b"".join(_field(1, node) for node in nodes)
    graph += _field(2, b"made")
    graph += _field(
        5,
        b"".join(_number(1, size) for size in table.shape)
        + _number(2, 1)
        + _field(8, b"table")
        + _field(9, table.tobytes()),
    )
    graph += _field(11, _value("input_ids", 7, ["batch", "sequence"]))
    graph += _field(11, _value("attention_mask", 7, ["batch", "sequence"]))
    graph += _field(12, _value("last_hidden_state", 1, ["batch", "sequence", dimension]))
    model = _number(1, 8) + _field(7, graph) + _field(8, _field(1, b"") + _number(2, 13))
    (directory / "model.onnx").write_bytes(model)
    write_tokenizer(directory / "tokenizer.json", words)
    return directory


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _node(operation: str, inputs: list[str], outputs: list[str], **attributes: int) -> bytes:
    data = b"".join(_field(1, name.encode()) for name in inputs) + b"".join(
        _field(2, name.encode()) for name in outputs
    )
    data += _field(4, operation.encode())
    for name, value in attributes.items():
        data += _field(5, _field(1, name.encode()) + _number(3, value) + _number(20, 2))
    return data


def _value(name: str, kind: int, sizes: list[str | int]) -> bytes:
    dimensions = [_field(2, size.encode()) if isinstance(size, str) else _number(1, size) for size in sizes]
    shape = b"".join(_field(1, dimension) for dimension in dimensions)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, kind) + _field(2, shape)))
