"""NaN/Inf mask differs | onnxruntime | ReduceMin(keepdims=1). Seen with onnxruntime 1.31.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
ReduceMin (float[2,3,11] x0) => (float[1,3,1] y0) 
   <int64[2] c0 =  {0,2}>
{
   [""] y0 = ReduceMin <keepdims: int = 1> (x0, c0)
}"""
inputs = [np.where(np.arange(66).reshape((2, 3, 11)) == 65, np.nan, np.linspace(-1, 1, 66, dtype='float32').reshape((2, 3, 11))).astype('float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession("model.onnx", options)
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print('expected [[[-1. ], [-0.66153848], [ nan]]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
