"""runtime crash | onnxruntime | LRN(size=2). Seen with onnxruntime 1.31.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
LRN (float[2,3,9,8] x0) => (float[2,3,9,8] y0) {
   [""] y0 = LRN <size: int = 2> (x0)
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
