"""What an ONNX file declares is counted in bytes and parts, before a library reads it."""

from functools import partial

import numpy as np
import onnx
import onnx.reference
import pytest
from onnx import TensorProto, helper

from asterism.core.messages.errors import UserError
from asterism.models.foreign.onnx_files import read_onnx, read_renamed_onnx
from asterism.models.isolated_model import ModelCrashError, ModelHangError
from asterism.models.signatures.reading import read_signature
from thinning import every

#: Bytes of one element, from ONNX's own description of its types.
WIDTHS = {
    TensorProto.BOOL: 1,
    TensorProto.UINT8: 1,
    TensorProto.FLOAT16: 2,
    TensorProto.FLOAT: 4,
    TensorProto.INT64: 8,
    TensorProto.DOUBLE: 8,
    TensorProto.COMPLEX128: 16,
}


def write(path, kind, elements, *, constant):
    """A model that declares a constant, or a value between its nodes, of so many elements."""
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [value], [value])
    if constant:
        graph.initializer.add(name="c", data_type=kind, dims=[elements])
    else:
        graph.value_info.append(helper.make_tensor_value_info("c", kind, [elements]))
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return path


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(("kind", "width"), WIDTHS.items(), ids=map(str, WIDTHS))
def test_the_limit_is_met_by_the_byte(kind, width, constant, tmp_path, monkeypatch):
    monkeypatch.setenv("ASTERISM_LIMITS_MODEL_MB" if constant else "ASTERISM_LIMITS_ARRAY_MB", "1")
    most = 10**6 // width
    path = write(tmp_path / "m.onnx", kind, most, constant=constant)
    assert isinstance(read_onnx(path), onnx.ModelProto)
    write(path, kind, most + 1, constant=constant)
    with pytest.raises(UserError, match=r"m\.onnx declares .* 1 MB"):
        read_onnx(path)


def model_of(nodes, functions=(), inputs=1, outputs=1):
    """A model of these nodes, which read ``x0`` and make ``y0``."""
    value = partial(helper.make_tensor_value_info, elem_type=TensorProto.FLOAT, shape=[1])
    graph = helper.make_graph(
        nodes,
        "g",
        [value(f"x{i}") for i in range(inputs)],
        [value(f"y{i}") for i in range(outputs)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, functions=functions, opset_imports=opsets, ir_version=9)


def function(name, *called):
    """A function that calls others, each with the result of the one before."""
    nodes = [
        helper.make_node(other, [f"v{i}"], [f"v{i + 1}"], domain="own" if other != "Neg" else "")
        for i, other in enumerate(called)
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["v0"], [f"v{len(called)}"], nodes, opsets)


CALL = helper.make_node("F0", ["x0"], ["y0"], domain="own")


def doubling(depth):
    """Functions, each of which calls the next one twice."""
    return [
        *(function(f"F{i}", f"F{i + 1}", f"F{i + 1}") for i in range(depth)),
        function(f"F{depth}", "Neg"),
    ]


def renamed(old, new):
    """A model with other bytes in place of a text."""
    content = model_of([helper.make_node("Relu", ["x0"], ["y0"], name="name")]).SerializeToString()
    assert content.count(old) == 1 and len(old) == len(new)
    return content.replace(old, new)


def of_type(kind):
    model = model_of([helper.make_node("Relu", ["x0"], ["y0"])])
    model.graph.input[0].type.tensor_type.elem_type = kind
    return model


def with_axes(count):
    model = model_of([helper.make_node("Relu", ["x0"], ["y0"])])
    model.graph.initializer.add(name="c", data_type=1, dims=[1 << 62] * count)
    return model


#: Files of a few kilobytes that took minutes, or hold what ONNX does not have.
CRAFTED = {
    "functions that double fifteen times": model_of([CALL] * 9, doubling(15)),
    "a function that calls itself": model_of([CALL], [function("F0", "F0", "F0")]),
    "three hundred functions in each other": model_of(
        [CALL], [function(f"F{i}", f"F{i + 1}") for i in range(300)] + [function("F300", "Neg")]
    ),
    "two functions of one name": model_of([CALL], [function("F0", "Neg")] * 2),
    "inputs times outputs": model_of(
        [helper.make_node("Neg", [f"x{i}"], [f"y{i}"]) for i in range(3000)], (), 3000, 3000
    ),
    "nodes by the hundred thousand": model_of(
        [helper.make_node("Neg", ["x0"], ["y0"])] * 100_001,
    ),
    "a shape of ten thousand axes": with_axes(10_000),
    "a type that ONNX does not have": of_type(-(2**31)),
    "an operator that is no word": renamed(b"Relu", b"R(;)"),
    "a name in another encoding": renamed(b"name", b"n\xff\xfee"),
    "an unknown field": model_of([]).SerializeToString() + b"\x9a\x3f\x01x",
    "a choice that is source": model_of(
        [helper.make_node("Einsum", ["x0"], ["y0"], equation="i');import os;('")]
    ),
}


@pytest.mark.parametrize("crafted", every(2, list(CRAFTED)))
def test_crafted_files_end_with_one_line_in_time(crafted, tmp_path, monkeypatch):
    monkeypatch.setattr("asterism.models.signatures.reading._SECONDS", 30.0)
    path, model = tmp_path / "m.onnx", CRAFTED[crafted]
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    with pytest.raises(UserError, match=r"m\.onnx") as error:
        read_signature(path)
    assert not isinstance(error.value, ModelCrashError | ModelHangError)


def test_functions_become_their_nodes(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(model_of([CALL], doubling(3)).SerializeToString())
    file = read_renamed_onnx(path)
    assert [node.op_type for node in file.model.graph.node] == ["Neg"] * 8
    assert read_signature(path).inputs[0].name == "x0"
    run = onnx.reference.ReferenceEvaluator(file.model).run
    assert run(None, {file.model.graph.input[0].name: np.ones(1, np.float32)}) == [1]
