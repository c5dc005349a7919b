"""ONNX Runtime's GRU gives a number for inputs of NaN."""

import sys

import numpy as np
import onnx
import onnxruntime as ort

node = onnx.helper.make_node("GRU", ["x", "w", "r", "b"], ["y"], hidden_size=4)
draw = np.random.default_rng(0).normal
shapes = {"w": (1, 12, 5), "r": (1, 12, 4), "b": (1, 24)}
given = [onnx.numpy_helper.from_array(draw(size=s).astype("float32"), n) for n, s in shapes.items()]
x, y = (onnx.helper.make_tensor_value_info(name, 1, None) for name in "xy")
graph = onnx.helper.make_graph([node], "gru", [x], [y], given)
opset = [onnx.helper.make_opsetid("", 18)]
model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)
session = ort.InferenceSession(model.SerializeToString())
actual = session.run(None, {"x": np.full((6, 2, 5), np.nan, "float32")})[0]
print("expected: 48 NaN, as each state is a sum with NaN")
print("actual  ", int(np.isnan(actual).sum()), "NaN;", actual[0, 0, 0].tolist())
sys.exit(bool(not np.isnan(actual).all()))
