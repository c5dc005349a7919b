"""wrong shape | openvino | DFT(onesided=1). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 20],
   doc_string: ""
>
DFT (float[1,6,1] x0) => (float[1,4,2] y0) 
   <int64 c1 =  {1}>
{
   [""] y0 = DFT <onesided: int = 1> (x0, "", c1)
}"""
inputs = [np.zeros((1, 6, 1), 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected [[[0., 0.], [0., 0.], [0., 0.], [0., 0.]]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
