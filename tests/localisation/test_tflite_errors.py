"""Errors of tensors along a pair of TFLite files."""

import numpy as np
import pytest
from quantised_networks import digits

from asterism.core.messages.errors import UserError
from asterism.localisation.tflite_errors import tflite_tensor_errors


def images(count):
    return digits()[0][:count].reshape(-1, 8, 8, 1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A float file and one with integers, of the same network."""
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    layers = keras.layers
    network = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(10),
        ]
    )
    folder = tmp_path_factory.mktemp("tflite")
    paths = folder / "float.tflite", folder / "int8.tflite"
    for path in paths:
        converter = tf.lite.TFLiteConverter.from_keras_model(network)
        if path.stem == "int8":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
            converter.representative_dataset = lambda: ([image[None]] for image in images(50))
        path.write_bytes(converter.convert())
    return paths


@pytest.mark.slow
def test_each_shared_tensor_has_an_error_in_the_graphs_order(files):
    errors = tflite_tensor_errors(*files, [{"images": images(20)}, {"images": images(7)}])
    assert [e.operator for e in errors] == ["CONV_2D", "RESHAPE", "FULLY_CONNECTED"]
    assert all(20 < e.cumulative.sqnr_db < 80 for e in errors)
    assert all(e.own is None for e in errors)
    same = tflite_tensor_errors(files[0], files[0], [{"images": images(20)}])
    assert {e.cumulative.relative_l2 for e in same} == {0.0}


@pytest.mark.slow
def test_wrong_inputs_are_rejected_in_one_line(files):
    feed = {"one": images(2), "two": images(2)}
    with pytest.raises(UserError, match="takes 1 inputs, not 2"):
        tflite_tensor_errors(*files, [feed])
    with pytest.raises(UserError, match="LiteRT cannot run"):
        tflite_tensor_errors(*files, [{"images": np.zeros((2, 3), np.float32)}])
