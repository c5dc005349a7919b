"""Outputs of a LiteRT file stand in the converted model's order, whatever the file's is."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema

from asterism.models.runtimes.runtime import open_runtime

flatbuffers = pytest.importorskip("flatbuffers")


def turned(content):
    """The same file with its outputs listed the other way round."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content))
    model.subgraphs[0].outputs = model.subgraphs[0].outputs[::-1]
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def test_the_files_own_order_of_outputs_does_not_matter(tmp_path):
    given = keras.Input((6,))
    answers = [keras.layers.Dense(4)(given), keras.layers.Dense(1)(given)]
    net = keras.Model(given, answers)
    content = tf.lite.TFLiteConverter.from_keras_model(net).convert()
    rows = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    wanted = [answer.numpy() for answer in net(rows)]
    for name, file in (("plain", content), ("turned", turned(content))):
        path = tmp_path / f"{name}.tflite"
        path.write_bytes(file)
        runtime = open_runtime(path)
        (given,) = runtime.signature.inputs
        found = list(runtime.run({given.name: rows}).values())
        assert [output.shape[-1] for output in runtime.signature.outputs] == [4, 1]
        for mine, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5)
