"""runtime crash | onnxruntime | MaxPool(kernel_shape=[1, 1], pads=[0, 1, 1, 0]). Seen with onnxruntime 1.31.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 19],
   doc_string: ""
>
MaxPool (float[2,3,9,8] x0) => (float[2,3,10,9] y0) {
   [""] y0 = MaxPool <ceil_mode: int = 0, kernel_shape: ints = [1, 1], pads: ints = [0, 1, 1, 0], strides: ints = [1, 1]> (x0)
}"""
inputs = [np.zeros((2, 3, 9, 8), 'float32')]
print("expected: it runs")
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession("model.onnx", options)
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print("actual: it runs")
