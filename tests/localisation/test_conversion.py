"""ONNX versions of Keras and LiteRT files: the same answers, and nodes that can be exchanged."""

import numpy as np
import onnxruntime
import pytest
from quantised_networks import digits

from asterism.core.messages.errors import UserError
from asterism.localisation.conversion import as_onnx
from asterism.localisation.hybrids import hybrid_model
from asterism.localisation.quantised_nodes import match_nodes
from asterism.localisation.reading import open_graphs
from asterism.localisation.running import Session


def images(count):
    return digits()[0][:count].reshape(-1, 8, 8, 1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A Keras file, and LiteRT files of it: float, int8, and weights of 8 bits."""
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    layers = keras.layers
    network = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Conv2D(300, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    folder = tmp_path_factory.mktemp("files")
    network.save(folder / "original.keras")
    for name in ("float", "int8", "weights"):
        converter = tf.lite.TFLiteConverter.from_keras_model(network)
        if name != "float":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if name == "int8":
            converter.representative_dataset = lambda: ([image[None]] for image in images(50))
        (folder / f"{name}.tflite").write_bytes(converter.convert())
    return folder


def lite_answers(path, rows):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path))
    interpreter.allocate_tensors()
    found = []
    for row in rows:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], row[None])
        interpreter.invoke()
        found.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0])
    return np.array(found)


def onnx_answers(path, rows):
    session = onnxruntime.InferenceSession(path)
    return session.run(None, {session.get_inputs()[0].name: rows})[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["float", "int8", "weights"])
def test_a_converted_file_answers_as_litert_does(files, tmp_path, name):
    converted = as_onnx(files / f"{name}.tflite", tmp_path)
    rows = images(20)
    wanted, found = lite_answers(files / f"{name}.tflite", rows), onnx_answers(converted, rows)
    # Where weights alone are quantised, LiteRT quantises activations by the range in a batch.
    near = 0.02 if name == "weights" else 1e-5
    np.testing.assert_allclose(found, wanted, atol=near)
    np.testing.assert_allclose(onnx_answers(converted, rows[:1]), found[:1], atol=near)


@pytest.mark.slow
def test_a_keras_file_has_the_nodes_of_the_litert_file_made_of_it(files, tmp_path):
    original = as_onnx(files / "original.keras", tmp_path)
    pair = match_nodes(open_graphs(original, as_onnx(files / "int8.tflite", tmp_path)))
    operators = [node.operator for node in pair.nodes]
    assert operators.count("Conv") == 2 and {"MatMul", "Gemm"} & set(operators)
    assert all(";" not in node.name for node in pair.nodes)
    rows = images(5)
    wanted = lite_answers(files / "float.tflite", rows)
    np.testing.assert_allclose(onnx_answers(original, rows), wanted, atol=1e-5)


@pytest.mark.slow
def test_what_cannot_be_converted_is_one_line(tmp_path):
    assert as_onnx(tmp_path / "a.onnx", tmp_path) == tmp_path / "a.onnx"
    (tmp_path / "broken.tflite").write_bytes(b"nonsense")
    with pytest.raises(UserError, match=r"broken\.tflite") as caught:
        as_onnx(tmp_path / "broken.tflite", tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_nodes_of_a_network_of_sounds_can_be_exchanged(tmp_path):
    """LiteRT makes pictures of rows for its convolutions, with other nodes in either file."""
    import keras
    import tensorflow as tf

    layers = keras.layers
    network = keras.Sequential(
        [
            keras.Input((400,)),
            layers.Reshape((400, 1)),
            layers.Conv1D(8, 16, strides=5, activation="relu"),
            layers.Conv1D(6, 1, activation="relu"),
            layers.GlobalAveragePooling1D(),
            layers.Dense(3),
        ]
    )
    sounds = np.random.default_rng(0).normal(size=(20, 1, 400)).astype(np.float32)
    network.save(tmp_path / "sounds.keras")
    converter = tf.lite.TFLiteConverter.from_keras_model(network)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([sound] for sound in sounds)
    (tmp_path / "int8.tflite").write_bytes(converter.convert())
    files = [as_onnx(tmp_path / name, tmp_path) for name in ("sounds.keras", "int8.tflite")]
    pair = match_nodes(open_graphs(*files))
    assert [node.operator for node in pair.nodes].count("Conv") == 2
    for index in range(len(pair.nodes)):
        Session(hybrid_model(pair, [index]), "with one node in float")
