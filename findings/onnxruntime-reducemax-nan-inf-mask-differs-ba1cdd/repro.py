"""NaN/Inf mask differs | onnxruntime | ReduceMax(axes=[0, 2]). Seen with onnxruntime 1.31.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 13],
   doc_string: ""
>
ReduceMax (float[2,3,11] x0) => (float[3] y0) {
   [""] y0 = ReduceMax <axes: ints = [0, 2], keepdims: int = 0> (x0)
}"""
inputs = [np.where(np.arange(66).reshape((2, 3, 11)) == 65, np.nan, np.linspace(-1, 1, 66, dtype='float32').reshape((2, 3, 11))).astype('float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession("model.onnx", options)
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print('expected [0.32307693, 0.66153848, nan]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
