"""The measurement of the oracle: its faults are what it says, and it finds some of them."""

import sys

import numpy as np
import onnx
import pytest

from libraries.small_runs import python
from onnx_texts import onnx_model
from places import ROOT

sys.path.append(str(ROOT / "benchmarks"))
from seeding.layer_faults import LAYER_FAULTS
from seeding.onnx_faults import ONNX_FAULTS, edited

sys.path.remove(str(ROOT / "benchmarks"))


def test_there_are_a_hundred_faults_each_in_a_model_that_has_the_layer():
    assert len(LAYER_FAULTS) + len(ONNX_FAULTS) >= 100
    for fault in LAYER_FAULTS.values():
        graph = fault.graph()
        assert fault.layer in {graph.nodes[i].type for i in graph.layers}


def test_an_edited_file_differs_in_what_its_fault_says():
    text = "(float[1,2] x) => (float[1,2] z) { y = Gemm <transB = 1> (x, w, b) z = Relu (y) }"
    weights = {"w": np.float32([[1, 2], [3, 4]]), "b": np.float32([1, 2])}
    content = onnx_model(text, **weights).SerializeToString()

    def model(fault):
        made = onnx.load_model_from_string(edited(content, fault))
        onnx.checker.check_model(made, full_check=True)
        return made

    assert [n.op_type for n in model("lost_relu").graph.node] == ["Gemm", "Identity"]

    def tensors_of(fault):
        made = model(fault).graph.initializer
        return {tensor.name: onnx.numpy_helper.to_array(tensor).tolist() for tensor in made}

    assert tensors_of("dropped_bias") == {"w": [[1, 2], [3, 4]], "b": [0, 0]}
    assert tensors_of("transposed_weights")["w"] == [[1, 3], [2, 4]]
    assert edited(content, "padding_off_by_one") is None


@pytest.mark.slow
def test_the_oracle_finds_the_faults_of_one_layer():
    said = python("benchmarks/oracle.py", "--only", "index_off_by_one", folder=ROOT).stdout
    assert "1 different faults; found 100.0%" in said and "0 of them false" in said
