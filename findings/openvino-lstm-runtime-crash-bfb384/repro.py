"""OpenVINO's LSTM has no activation Softsign."""

import sys

import numpy as np
import onnx
import openvino as ov

node = onnx.helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=1,
                             activations=["Sigmoid", "Tanh", "Softsign"])
ones = [onnx.numpy_helper.from_array(np.ones((1, 4, 1), "float32"), name) for name in "wr"]
x, y = (onnx.helper.make_tensor_value_info(name, 1, None) for name in "xy")
graph = onnx.helper.make_graph([node], "lstm", [x], [y], ones)
model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])
onnx.save(model, "model.onnx")
print("expected: it runs; ONNX lists Softsign among the activations that are optional")
try:
    actual = ov.compile_model("model.onnx", "CPU")([np.zeros((1, 1, 1), "float32")])[0]
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual)
