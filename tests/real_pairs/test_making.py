"""Makers of model files and of inputs, on small ones made here."""

import os
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
from real_pairs.entry import with_options
from real_pairs.inputs import INPUT_MAKERS
from real_pairs.inputs.wake_words import spoken
from real_pairs.inputs.words import sentences, words
from real_pairs.making.sentence_model import read_safetensors
from small_model_files import FEEDING, FILE, answers, convolution, make, write_safetensors

from asterism.core.messages.errors import UserError
from asterism.models.tensor_models.model import FileModel, OpeningRequest
from onnx_texts import write_onnx
from places import ROOT

pytestmark = pytest.mark.slow  # of a benchmark

RNG = np.random.default_rng(0)


def test_sizes_are_settled_and_the_model_stays_the_same(tmp_path):
    source = convolution(tmp_path / "a.onnx")
    options = {"sizes": {"x": [None, 3, 8, 8]}, "opset": 13}
    fixed = make("fixed_sizes", source, tmp_path / "b.onnx", options)
    images = RNG.normal(size=(2, 3, 8, 8)).astype(np.float32)
    assert answers(fixed, {"x": images}) == pytest.approx(answers(source, {"x": images}), abs=1e-5)
    model = onnx.load(fixed)
    assert [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim] == [0, 3, 8, 8]
    assert next(e.version for e in model.opset_import if not e.domain) >= 13


def test_a_compressed_file_computes_nearly_the_same(tmp_path):
    sizes = {"sizes": {"x": [None, 3, 8, 8]}, "opset": 13}
    source = make("fixed_sizes", convolution(tmp_path / "a.onnx"), tmp_path / "b.onnx", sizes)
    images = RNG.normal(size=(20, 3, 8, 8)).astype(np.float32)
    feeds = [{"x": image[np.newaxis]} for image in images]
    options = {"per_channel": True}
    made, again = (
        make("onnx_static_int8", source, tmp_path / name, options, calibration=lambda: feeds)
        for name in ("c.onnx", "d.onnx")
    )
    assert made.read_bytes() == again.read_bytes()
    difference = np.abs(answers(made, {"x": images}) - answers(source, {"x": images})).max()
    assert 0 < difference < 0.05


def integer_model(path, weights):
    """Tokens to vectors, by weights that are integers times a scale."""
    scale = np.abs(weights).max(axis=1, keepdims=True) / 127
    integers = np.rint(weights / scale).astype(np.int8)
    text = f"""(int64[n,4] ids, int64[n,4] mask) => (float[n,4,{weights.shape[1]}] hidden) {{
        w_f = Cast <to = 1> (w_q)
        w = Mul (w_f, w_scale)
        hidden = Gather (w, ids)
    }}"""
    return write_onnx(path, text, w_q=integers, w_scale=scale.astype(np.float32))


def test_a_sentence_model_gets_its_float_weights_and_one_vector(tmp_path):
    weights = RNG.normal(size=(10, 6)).astype(np.float32)
    source = integer_model(tmp_path / "a.onnx", weights)
    other = RNG.normal(size=(10, 6)).astype(np.float32)
    floats = write_safetensors(tmp_path / "f", {"other": other, "right": weights.T.copy()})
    assert np.array_equal(read_safetensors(floats)["other"], other)
    exact = make(
        "float_weights", source, tmp_path / "b.onnx", {"weights": FILE}, files={"f": floats}
    )
    qdq = make("integer_weights_as_qdq", source, tmp_path / "c.onnx")
    feed = {"ids": np.array([[1, 2, 3, 0]]), "mask": np.array([[1, 1, 1, 0]])}
    assert np.array_equal(answers(exact, feed), weights[feed["ids"]])
    assert np.array_equal(answers(qdq, feed), answers(source, feed))
    assert "DequantizeLinear" in {node.op_type for node in onnx.load(qdq).graph.node}
    options = {"mask": "mask", "hidden": "hidden"}
    pooled = make("mean_pooled", exact, tmp_path / "d.onnx", options)
    assert answers(pooled, feed) == pytest.approx(weights[[1, 2, 3]].mean(axis=0)[np.newaxis])


def test_weights_that_a_file_lacks_are_one_line(tmp_path):
    source = integer_model(tmp_path / "a.onnx", RNG.normal(size=(10, 6)).astype(np.float32))
    floats = write_safetensors(tmp_path / "f", {"x": RNG.normal(size=(10, 6)).astype(np.float32)})
    with pytest.raises(UserError, match="has weights that f lacks"):
        make("float_weights", source, tmp_path / "b.onnx", {"weights": FILE}, files={"f": floats})
    convolution(tmp_path / "c.onnx")
    with pytest.raises(UserError, match="no weights"):
        make("integer_weights_as_qdq", tmp_path / "c.onnx", tmp_path / "d.onnx")


def test_a_litert_file_and_its_floats(tmp_path):
    """A quantised file whose integers are replaced by what they stand for computes nearly that."""
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    layers = [keras.layers.Conv1D(32, 3, activation="relu")]
    layers += [keras.layers.Dense(64), keras.layers.Dense(2)]
    model = keras.Sequential([keras.layers.Input((12, 4)), *layers])
    items = RNG.normal(size=(20, 12, 4)).astype(np.float32)
    expected = model.predict(items, verbose=0).reshape(20, -1)
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([item[np.newaxis]] for item in items)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    (tmp_path / "full.tflite").write_bytes(converter.convert())
    floats = make("litert_floats", tmp_path / "full.tflite", tmp_path / "floats.tflite")
    found = FileModel(floats, OpeningRequest(FEEDING, False, items)).predict(items)
    assert 0 < np.abs(found - expected).max() < 0.1


CASES = {
    "text_pictures": {"height": 48, "width": 96, "lines": 2, "words": 2, "upside_down": True},
    "sentence_tokens": {"vocabulary": FILE, "length": 12},
    "wake_words": {"phrase": "okay nabu", "frames": 30},
}


def test_every_maker_of_inputs_is_among_the_cases():
    assert set(CASES) == set(INPUT_MAKERS)


@pytest.mark.parametrize("name", sorted(CASES))
def test_equal_streams_make_equal_inputs_and_others_make_others(name, tmp_path):
    (tmp_path / "f").write_text("[UNK]\n[CLS]\n[SEP]\nthe\n##s\n.\n" + "\n".join("abcdefghijk"))
    maker = with_options(INPUT_MAKERS, name, CASES[name])

    def made(seed):
        rng = np.random.default_rng(seed)
        return maker(6, rng, lambda file: tmp_path / file.path)

    try:
        first = made(0)
    except UserError as missing:
        if "apt-get install" not in str(missing) and "pip install" not in str(missing):
            raise
        pytest.skip(str(missing))
    again, other = made(0), made(1)
    assert len(first.items) == 6 and np.isfinite(first.items).all()
    assert np.array_equal(first.items, again.items) and first.items.dtype == again.items.dtype
    assert not np.array_equal(first.items, other.items)
    if first.labels is not None:
        assert np.array_equal(first.labels, again.labels) and len(first.labels) == 6


def test_words_are_cut_into_the_longest_pieces(tmp_path):
    from real_pairs.inputs.tokens import tokens_of

    known = {piece: n for n, piece in enumerate(["[UNK]", "play", "pl", "##ing", "##i", "ng"])}
    assert tokens_of("playing", known) == [1, 3]
    assert tokens_of("pling", known) == [2, 3]
    assert tokens_of("xyz", known) == [0]


def test_sentences_do_not_depend_on_what_else_is_imported():
    assert len(sentences()) > 1000 and len(words()) > 1000
    program = "from real_pairs.inputs.words import sentences; print(hash(sentences()))"
    environment = os.environ | {"PYTHONPATH": f"{ROOT}/src:{ROOT}/benchmarks"}
    environment["PYTHONHASHSEED"] = "0"
    printed = {
        subprocess.run(
            [sys.executable, "-c", f"{others}{program}"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for others in ("", "import email.mime.text, unittest.mock, json.tool; ")
    }
    assert len(printed) == 1


def test_what_is_not_installed_is_one_line(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UserError, match="espeak-ng"):
        spoken(["a"], np.random.default_rng(0))
