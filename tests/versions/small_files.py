"""Small ONNX models that several tests use, and what libraries put out of them."""

from onnx import TensorProto, helper, numpy_helper

from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.adapters.model_under_test import ModelUnderTest


def onnx_model(nodes, inputs, outputs, constants=None, opset=17):
    """A model.

    Args:
        nodes: (operator, inputs, outputs, attributes).
        inputs: (name, shape), or (name, shape, ONNX type).
        outputs: names.
        constants: arrays by name.
        opset: version of the operators.
    """
    made = [
        helper.make_node(kind, read, written, f"node{i}", **attributes)
        for i, (kind, read, written, attributes) in enumerate(nodes)
    ]
    values = [
        helper.make_tensor_value_info(name, kind[0] if kind else TensorProto.FLOAT, shape)
        for name, shape, *kind in inputs
    ]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    arrays = [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()]
    graph = helper.make_graph(made, "small", values, results, arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def chain(*kinds, shape=("batch", 4)):
    """Operators of one input, one after the other."""
    names = ["x", *(f"v{i}" for i in range(len(kinds)))]
    nodes = [(k, [names[i]], [names[i + 1]], {}) for i, k in enumerate(kinds)]
    return onnx_model(nodes, [("x", shape)], [names[-1]])


def run_file(content, inputs, folder, library="onnx_reference", option="float64"):
    """What a library puts out of a model, whose file is written into a folder."""
    adapter = LIBRARIES[library]()
    (folder / f"file{adapter.suffix}").write_bytes(content)
    return adapter.run(adapter.compile(ModelUnderTest(folder, None, None), option), inputs)
