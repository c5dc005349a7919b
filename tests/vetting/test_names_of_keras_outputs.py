"""Outputs of a Keras file have one name, whether it runs in Keras or as its export."""

import keras
import numpy as np
import pytest

from asterism.models.formats import open_runtime
from asterism.models.signatures.keras import keras_signature
from thinning import every


@pytest.mark.parametrize("shape", every(2, [pytest.param((8,)), pytest.param((8, 8, 3))]))
def test_outputs_are_called_as_in_the_file(tmp_path, shape):
    given = keras.Input(shape, name="given")
    answer = keras.layers.Dense(4, activation="softmax", name="probabilities")
    model = keras.Model(given, [answer(keras.layers.Flatten()(given))])
    path = tmp_path / "model.keras"
    model.save(path)
    runtime = open_runtime(path)
    (spec,), (told,) = runtime.signature.outputs, keras_signature(path).outputs
    assert spec.name == told.name == "probabilities"
    x = np.random.default_rng(0).uniform(size=(3, *shape)).astype(np.float32)
    (taken,) = runtime.signature.inputs
    found = runtime.run({taken.name: x})
    assert list(found) == ["probabilities"]
    np.testing.assert_allclose(found["probabilities"], model.predict(x, verbose=0), atol=1e-5)
