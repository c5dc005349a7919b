"""A model that takes memory only when it runs ends with an error, and takes nothing along."""

import crafted_models as crafted
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from asterism.core.messages.errors import UserError
from asterism.models.classifiers.isolated import IsolatedClassifier
from asterism.models.keras_models.preprocessing import PreprocessingParams

UNIT = PreprocessingParams(scale=1.0, mean=[0.0], std=[1.0])


def _counting(path, top):
    """A model that counts to a number which nobody knows before it runs."""
    constants = {"top": np.float32(top), "zero": np.int64(0), "one": np.int64(1)}
    nodes = [
        helper.make_node("ReduceSum", ["flat"], ["sum"], keepdims=0),
        helper.make_node("Sign", ["sum"], ["sign"]),
        helper.make_node("Abs", ["sign"], ["any"]),
        helper.make_node("Mul", ["any", "top"], ["real"]),
        helper.make_node("Cast", ["real"], ["end"], to=TensorProto.INT64),
        helper.make_node("Range", ["zero", "end", "one"], ["many"]),
        helper.make_node("Cast", ["many"], ["values"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["values"], ["most"], keepdims=0),
        helper.make_node("Add", ["scores", "most"], ["sums"]),
    ]
    given = [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()]
    model = crafted.onnx_model(path, nodes, given)
    model.graph.node[-1].input[0] = "sums"
    path.write_bytes(model.SerializeToString())


@pytest.mark.slow
def test_a_model_that_grows_when_it_runs_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("ASTERISM_LIMITS_PROCESS_MB", "1500")
    _counting(tmp_path / "small.onnx", 10)
    with IsolatedClassifier(tmp_path / "small.onnx", UNIT) as model:
        assert model.classes == 3
    _counting(tmp_path / "large.onnx", 10**9)
    with pytest.raises(UserError, match=r"large\.onnx"):
        IsolatedClassifier(tmp_path / "large.onnx", UNIT)
