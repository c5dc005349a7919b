"""NaN/Inf mask differs | onnxruntime | TopK(largest=0). Seen with onnxruntime 1.31.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
TopK (float[2,3,11] x0) => (float[2,3,4] y0, int64[2,3,4] y1) 
   <int64[1] c0 =  {4}>
{
   [""] y0, y1 = TopK <axis: int = -1, largest: int = 0> (x0, c0)
}"""
inputs = [np.where(np.arange(66).reshape((2, 3, 11)) == 0, np.nan, np.linspace(-1, 1, 66, dtype='float32').reshape((2, 3, 11))).astype('float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession("model.onnx", options)
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print('expected -0.9076923131942749 at [0, 0, 2] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 2])
