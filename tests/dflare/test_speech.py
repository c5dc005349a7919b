"""The experiment with recognisers of speech: its pieces, and the whole on a tiny scale."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons.sequences import SequenceComparison, SequenceOptions
from places import ROOT

sys.path.append(str(ROOT / "benchmarks"))

from speaking import clips, page
from speaking.quantising import full_precision, static_int8, weights_int8
from speaking.table import transcripts, word_error_rate

sys.path.remove(str(ROOT / "benchmarks"))

speaks = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
#: 40 ms a word would be too short; words of a clip fit into this at 8 kHz.
RATE, LENGTH = 8_000, 20_000


def test_words_are_read_and_counted_as_by_hand():
    options = SequenceOptions(
        decoding="ctc", blank=0, symbols=["", " ", "a", "b"], unit="word", tolerance=0.0
    )
    rows = [[2, 2, 0, 2, 1, 3, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0], [3, 1, 1, 2, 0, 0, 0, 0]]
    scores = np.eye(4, dtype=np.float32)[rows].reshape(3, -1)
    found = transcripts(SequenceComparison(options, (8, 4)), scores)
    assert found == [["aa", "b"], [], ["b", "a"]]
    # One word right and one wrong, one missing, one right and one too many: 3 errors of 4 words.
    assert word_error_rate(found, ["aa a", "b", "a"]) == pytest.approx(3 / 4)


def network(path, dtype=np.float32):
    """A convolution and a product, with weights of this type and casts around them."""
    rng = np.random.default_rng(0)
    weights = {"kernel": rng.normal(0, 1, (64, 4, 5)), "matrix": rng.normal(0, 1, (64, 32))}
    constants = [numpy_helper.from_array(v.astype(dtype), n) for n, v in weights.items()]
    half = TensorProto.FLOAT16 if dtype == np.float16 else TensorProto.FLOAT
    nodes = [
        helper.make_node("Cast", ["x"], ["given"], to=half),
        helper.make_node("Conv", ["given", "kernel"], ["convolved"], pads=[2, 2], name="conv"),
        helper.make_node("Relu", ["convolved"], ["positive"]),
        helper.make_node("Transpose", ["positive"], ["steps"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["steps", "matrix"], ["scores"], name="product"),
        helper.make_node("Cast", ["scores"], ["y"], to=TensorProto.FLOAT),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4, 20])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 20, 32])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path


def answers(path, count=6):
    given = np.random.default_rng(1).normal(0, 1, (count, 4, 20)).astype(np.float32)
    return ort.InferenceSession(path).run(None, {"x": given})[0]


def types(path):
    return {t.name: t.data_type for t in onnx.load(path).graph.initializer}


def test_weights_of_8_bits_are_near_and_what_is_kept_stays(tmp_path):
    source = network(tmp_path / "float.onnx")
    assert weights_int8(source, tmp_path / "both.onnx", set()) == 2
    assert weights_int8(source, tmp_path / "one.onnx", {"kernel"}) == 1
    wanted, found = answers(source), answers(tmp_path / "both.onnx")
    assert 0 < np.abs(found - wanted).max() < 0.02 * np.abs(wanted).max()
    assert types(tmp_path / "both.onnx")["kernel_levels"] == TensorProto.INT8
    assert types(tmp_path / "one.onnx")["kernel"] == TensorProto.FLOAT
    kernel, scales = (
        numpy_helper.to_array(t)
        for t in onnx.load(tmp_path / "both.onnx").graph.initializer
        if t.name in ("kernel_levels", "kernel_scales")
    )
    assert kernel.shape == (64, 4, 5)
    assert len(scales) == 64
    assert (np.abs(kernel.reshape(64, -1)).max(axis=1) == 127).all()


def test_activations_of_8_bits_too(tmp_path):
    source = network(tmp_path / "float.onnx")
    rng = np.random.default_rng(2)
    feeds = [{"x": rng.normal(0, 1, (1, 4, 20)).astype(np.float32)} for _ in range(20)]
    static_int8(source, tmp_path / "int8.onnx", feeds, {"matrix"})
    wanted, found = answers(source), answers(tmp_path / "int8.onnx")
    assert 0 < np.abs(found - wanted).max() < 0.1 * np.abs(wanted).max()
    graph = onnx.load(tmp_path / "int8.onnx").graph
    product = next(node for node in graph.node if node.op_type == "MatMul")
    assert "matrix" in product.input  # is kept


def test_half_precision_becomes_float32_with_the_same_weights(tmp_path):
    half = network(tmp_path / "half.onnx", np.float16)
    full_precision(half, tmp_path / "full.onnx")
    assert set(types(half).values()) == {TensorProto.FLOAT16}
    assert set(types(tmp_path / "full.onnx").values()) == {TensorProto.FLOAT}
    np.testing.assert_allclose(answers(tmp_path / "full.onnx"), answers(half), atol=0.1)


def test_without_a_program_that_speaks_one_line_says_so(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(UserError, match="apt-get install espeak-ng"):
        clips.require_speech()


@speaks
def test_a_clip_is_the_same_however_many_are_made():
    many = clips.synthesised(6, 5, clips.HELD_OUT_SPEAKERS, RATE, LENGTH)
    few = clips.synthesised(2, 5, clips.HELD_OUT_SPEAKERS, RATE, LENGTH)
    assert many.texts[:2] == few.texts
    assert np.array_equal(many.waves[:2], few.waves)
    assert many.waves.shape == (6, LENGTH)
    assert many.waves.dtype == np.float32
    assert (np.abs(many.waves).max(axis=1) > 0.05).all()
    assert {word for text in many.texts for word in text.split()} <= set(clips.WORDS)
    assert not set(clips.SPEAKERS) & set(clips.HELD_OUT_SPEAKERS)


@speaks
def test_pace_and_rate_change_the_length():
    slow, fast = (clips.spoken("seven", "en-us+m1", pace, 50, RATE) for pace in (120, 240))
    assert len(slow) > 1.2 * len(fast)
    assert abs(len(clips.spoken("seven", "en-us+m1", 120, 50, 2 * RATE)) - 2 * len(slow)) <= 2


def test_the_page_shows_the_results_that_are_kept():
    text = (ROOT / "docs/speech.md").read_text(encoding="utf-8")
    assert text == page.with_table(text, page.kept_results())


@speaks
@pytest.mark.slow
def test_the_whole_on_a_tiny_scale(tmp_path):
    command = [sys.executable, ROOT / "benchmarks/speech.py", "words", "--work", tmp_path]
    small = ("training=96", "epochs=2", "clips=40", "seeds=8", "queries=30", "chased=2")
    for option in (*small, "population=8"):
        name, _, value = option.partition("=")
        command += [f"--{name}", value]
    told = []
    for _ in range(2):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        told.append(json.loads((tmp_path / "results/words.json").read_text()))
    assert told[0] == told[1]  # the second time nothing is made or searched
    figures = told[0]
    assert figures["clips"]["count"] == 40
    assert len(figures["clips"]["word_error_rates"]) == 2
    assert figures["searches"]["dflare"]["total_queries"] > 0
    assert figures["bytes"][1] < figures["bytes"][0]
    floats, eight = (
        Path(tmp_path, "subjects/words-96-2", name) for name in ("float.onnx", "int8.onnx")
    )
    quantised = [n.op_type for n in onnx.load(eight).graph.node].count("QuantizeLinear")
    assert quantised >= 6  # of each convolution's input, but for the spectrum's
    assert "QuantizeLinear" not in [n.op_type for n in onnx.load(floats).graph.node]
