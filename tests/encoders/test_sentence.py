import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tertulia.encoders.sentence import SentenceEncoder, load_encoder, open_encoder
from tertulia.encoders.sentence_models import MODELS, default_model, find_model
from tertulia.encoders.sentence_runners import pool
from tertulia.errors import ArtefactError, ConfigurationError, MissingExtraError, TertuliaError
from tests.encoders.sentence_made import write_bert, write_onnx, write_tokenizer

TEXTS = ["the cat", "is it a dog", "why", "rain was big", "the cat", "", "a house is red and blue", "what what what"]


@pytest.fixture(scope="module")
def onnx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_onnx(tmp_path_factory.mktemp("models") / "plain")


@pytest.fixture(scope="module")
def ranged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_onnx(tmp_path_factory.mktemp("models") / "ranged", ranged=True)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture(scope="module")
def minilm() -> SentenceEncoder:
    return open_encoder("minilm")


def check_that_vectors_stand_alone(encoder: SentenceEncoder) -> None:
    together = encoder.encode(TEXTS)
    assert together.dtype == np.float32
    assert together.shape == (len(TEXTS), encoder.dimension)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(encoder.encode(TEXTS[::-1]), together[::-1])


def test_a_vector_does_not_depend_on_its_companions(onnx: Path, bert: Path, minilm: SentenceEncoder) -> None:
    for encoder in (open_encoder(onnx), open_encoder(bert, device="cpu"), minilm):
        check_that_vectors_stand_alone(encoder)


def test_nor_where_the_graph_scales_by_the_whole_call(ranged: Path, onnx: Path) -> None:
    encoder = open_encoder(ranged)
    both = np.array([list(range(24)), [2] * 24])
    runner = encoder._runner
    assert not np.array_equal(runner.run(both)[1], runner.run(both[1:])[0])
    assert runner.tokens == 1
    assert open_encoder(onnx)._runner.tokens > 1
    check_that_vectors_stand_alone(encoder)


def test_threads_change_nothing(minilm: SentenceEncoder) -> None:
    texts = [f"{word} number {number}" for number in range(20) for word in ("the cat", "it is a small dog of mine")]
    np.testing.assert_array_equal(open_encoder("minilm", workers=3).encode(texts), minilm.encode(texts))


def test_what_means_the_same_is_near(minilm: SentenceEncoder) -> None:
    question, same, other = minilm.encode(["is it raining outside", "does it rain out there", "my aunt sells bicycles"])
    assert question @ same > 0.7 > 0.3 > question @ other


def test_the_graph_agrees_with_the_checkpoint_that_it_was_made_of(minilm: SentenceEncoder) -> None:
    texts = [
        "is it raining outside",
        "A longer sentence: of beer, bread and a cat named Ferdinand!",
        "ok",
        "北京 rocks",
    ]
    full = open_encoder("minilm-full", device="cpu")
    assert (minilm.encode(texts) * full.encode(texts)).sum(axis=1).min() > 0.995


def test_the_definition_of_a_vector(bert: Path) -> None:
    import torch
    from transformers import BertModel

    model = BertModel.from_pretrained(bert, use_safetensors=True).eval()
    with torch.inference_mode():
        hidden = model(torch.tensor([[2, 4, 6, 3]])).last_hidden_state[0].numpy()
    for mode, expected in (("mean", hidden.mean(axis=0)), ("cls", hidden[0]), ("max", hidden.max(axis=0))):
        np.testing.assert_allclose(pool(hidden[None], mode)[0], expected, rtol=1e-5)
    found = open_encoder(bert, device="cpu").encode(["the cat"])[0]
    np.testing.assert_allclose(found, hidden.mean(axis=0) / np.linalg.norm(hidden.mean(axis=0)), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "text", ["", " ", "\ud83d", "\x00", "x" * 100_000, "cat " * 50_000, "\u202e\u0301", "𝒳🐈\n\t"], ids=range(8)
)
def test_any_text_has_a_vector(minilm: SentenceEncoder, onnx: Path, text: str) -> None:
    for encoder in (minilm, open_encoder(onnx)):
        vector = encoder.encode([text])
        assert np.isfinite(vector).all()
        np.testing.assert_allclose(np.linalg.norm(vector), 1, atol=1e-6)


def test_no_text_no_vector(minilm: SentenceEncoder) -> None:
    assert minilm.encode([]).shape == (0, 384)


def test_progress_counts_every_distinct_text_once(onnx: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    encoder = open_encoder(onnx, tmp_path / "cache")
    encoder.encode(TEXTS[:3])
    encoder.encode(TEXTS, lambda *each: told.append(each))
    assert {stage for stage, _, _ in told} == {"embeddings"}
    assert sum(done for _, done, _ in told) == 7
    assert {total for _, _, total in told} == {7}


def test_with_a_cache_the_same_and_nothing_twice(onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = open_encoder(onnx).encode(TEXTS)
    np.testing.assert_array_equal(open_encoder(onnx, tmp_path).encode(TEXTS[2:5]), plain[2:5])
    encoder = open_encoder(onnx, tmp_path)
    np.testing.assert_array_equal(encoder.encode(TEXTS), plain)
    monkeypatch.setattr(encoder, "_compute", None)
    np.testing.assert_array_equal(encoder.encode(TEXTS), plain)
    assert len(list(tmp_path.iterdir())) == 1


def test_models_do_not_share_vectors(onnx: Path, ranged: Path, tmp_path: Path) -> None:
    one, other = open_encoder(onnx, tmp_path), open_encoder(ranged, tmp_path)
    assert one.digest != other.digest
    assert not np.array_equal(one.encode(["a cat"]), other.encode(["a cat"]))
    assert len(list(tmp_path.iterdir())) == 2


def test_the_digest_follows_what_decides_over_vectors(bert: Path, tmp_path: Path) -> None:
    before = find_model(bert).digest()
    other = shutil.copytree(bert, tmp_path / "other")
    assert find_model(other).digest() == before
    (other / "1_Pooling").mkdir()
    (other / "1_Pooling" / "config.json").write_text(
        '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}'
    )
    cls = find_model(other)
    assert cls.pooling == "cls"
    assert cls.digest() != before
    (other / "1_Pooling" / "config.json").write_text('{"pooling_mode": "mean"}')
    assert find_model(other).digest() == before
    (other / "sentence_bert_config.json").write_text('{"max_seq_length": 5}')
    short = find_model(other)
    assert short.max_tokens == 5
    assert short.digest() != before
    encoder = open_encoder(other)
    np.testing.assert_array_equal(*encoder.encode(["the cat is", "the cat is a dog"]))


def test_saved_and_loaded_it_is_the_same(onnx: Path, bert: Path, tmp_path: Path) -> None:
    for name, source in (("onnx", onnx), ("bert", bert), ("packaged", "minilm")):
        directory = tmp_path / name
        directory.mkdir()
        encoder = open_encoder(source, device="cpu")
        encoder.save(directory)
        loaded = load_encoder(directory, device="cpu")
        assert loaded.digest == encoder.digest
        np.testing.assert_array_equal(loaded.encode(TEXTS), encoder.encode(TEXTS))
    assert sum(file.stat().st_size for file in (tmp_path / "packaged").rglob("*")) < 1000


def test_a_saved_model_of_another_digest_is_refused(onnx: Path, tmp_path: Path) -> None:
    open_encoder(onnx).save(tmp_path)
    write_tokenizer(tmp_path / "sentence_model" / "tokenizer.json", ["cat", "dog"])
    with pytest.raises(ArtefactError, match="another version"):
        load_encoder(tmp_path)


@pytest.mark.parametrize(
    "note", ["", "{", "[]", "null", "[" * 100_000, '{"name": 3}', '{"name": "other"}', '{"name": null}']
)
def test_a_damaged_note_is_refused(tmp_path: Path, note: str) -> None:
    (tmp_path / "sentence_model.json").write_text(note)
    with pytest.raises(TertuliaError) as caught:
        load_encoder(tmp_path)
    assert "\n" not in str(caught.value)


def test_names(tmp_path: Path) -> None:
    assert default_model("en") == "minilm"
    assert default_model("zh") is None
    with pytest.raises(ConfigurationError, match="minilm, minilm-full, or the path"):
        open_encoder("no-such")
    with pytest.raises(ConfigurationError, match="minilm-full"):
        open_encoder("")
    with pytest.raises(ConfigurationError, match="device"):
        open_encoder("minilm-full", device="tpu")
    (tmp_path / "file").touch()
    with pytest.raises(ArtefactError, match="is a file"):
        open_encoder(tmp_path / "file")
    with pytest.raises(ArtefactError, match=r"no tokenizer\.json"):
        open_encoder(tmp_path)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, onnx: Path, bert: Path) -> None:
    for missing, source in (("onnxruntime", onnx), ("tokenizers", onnx), ("torch", bert), ("transformers", bert)):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            with pytest.raises(MissingExtraError, match=missing):
                open_encoder(source)
    with monkeypatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda _: None)
        for name in MODELS:
            with pytest.raises(MissingExtraError, match=r"minilm.*tertulia\[neural\]"):
                open_encoder(name)


def test_a_pickle_is_never_loaded(bert: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(bert, tmp_path / "pickled")
    (directory / "model.safetensors").rename(directory / "pytorch_model.bin")
    with pytest.raises(ArtefactError, match=r"a pickle.*convert it"):
        open_encoder(directory)


def test_modules_that_change_vectors_are_refused(bert: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(bert, tmp_path / "dense")
    known = [{"type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling", "Normalize")]
    (directory / "modules.json").write_text(json.dumps(known))
    assert open_encoder(directory).dimension == 16
    (directory / "modules.json").write_text(json.dumps([*known, {"type": "sentence_transformers.models.Dense"}]))
    with pytest.raises(ArtefactError, match="Dense"):
        open_encoder(directory)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"model": {"type": "WordLevel"}}'])
@pytest.mark.parametrize("file", ["tokenizer.json", "config.json", "model.safetensors"])
def test_a_damaged_checkpoint_is_refused_in_one_line(bert: Path, tmp_path: Path, file: str, content: bytes) -> None:
    directory = shutil.copytree(bert, tmp_path / "damaged")
    (directory / file).write_bytes(content)
    with pytest.raises(ArtefactError) as caught:
        open_encoder(directory)
    assert "\n" not in str(caught.value)


def test_a_damaged_graph_is_refused_in_one_line(onnx: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(onnx, tmp_path / "damaged")
    whole = (onnx / "model.onnx").read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"\0" * 100, whole.replace(b"Gather", b"Hather")):
        (directory / "model.onnx").write_bytes(content)
        with pytest.raises(ArtefactError) as caught:
            open_encoder(directory)
        assert "\n" not in str(caught.value)


def test_a_tokenizer_of_another_model_is_told(tmp_path: Path) -> None:
    directory = write_onnx(tmp_path / "few", vocabulary=6)
    encoder = open_encoder(directory)
    with pytest.raises(ArtefactError, match="fails on a text"):
        encoder.encode(["why what"])


def test_numbers_that_are_not_finite_are_told(onnx: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(onnx, tmp_path / "nan")
    whole = (directory / "model.onnx").read_bytes()
    start = whole.index(b"table") + 200
    place = whole.index(b"J", whole.index(b"table", start - 150))
    (directory / "model.onnx").write_bytes(whole[: place + 8] + b"\xff\xff\xff\xff" * 150 + whole[place + 608 :])
    with pytest.raises(ArtefactError):
        open_encoder(directory).encode(TEXTS)


def test_nothing_is_written_to_the_terminal(bert: Path) -> None:
    program = f"from tertulia.encoders.sentence import open_encoder; open_encoder({str(bert)!r}).encode(['a cat'])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == done.stderr == ""
