"""values differ | onnxruntime | LpPool(ceil_mode=1, strides=[2, 2]). Seen with onnxruntime 1.31.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
LpPool (float[2,3,9,8] x0) => (float[2,3,4,4] y0) {
   [""] y0 = LpPool <ceil_mode: int = 1, kernel_shape: ints = [3, 3], p: int = 1, strides: ints = [2, 2]> (x0)
}"""
inputs = [np.ones((2, 3, 9, 8), 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession("model.onnx", options)
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print('expected 9.0 at [0, 0, 0, 3] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0, 3])
