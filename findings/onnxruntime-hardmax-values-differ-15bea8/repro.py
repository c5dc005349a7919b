"""values differ | onnxruntime | Hardmax(axis=0). Seen with onnxruntime 1.31.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
Hardmax (float[2,3,11] x0) => (float[2,3,11] y0) {
   [""] y0 = Hardmax <axis: int = 0> (x0)
}"""
inputs = [np.full((2, 3, 11), np.nan, 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession("model.onnx", options)
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print('expected 1.0 at [0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0])
