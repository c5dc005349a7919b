"""NaN/Inf mask differs | openvino | ReduceLogSumExp(keepdims=0). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
ReduceLogSumExp (float[2,3,11] x0) => (float[2,3] y0) 
   <int64[1] c0 =  {-1}>
{
   [""] y0 = ReduceLogSumExp <keepdims: int = 0> (x0, c0)
}"""
inputs = [np.where(np.arange(66).reshape((2, 3, 11)) == 0, np.nan, np.linspace(-1, 1, 66, dtype='float32').reshape((2, 3, 11))).astype('float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected [[ nan, 1.89493213, 2.23339368], [2.57185523, 2.91031678, 3.24877831]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
