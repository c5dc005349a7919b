"""wrong shape | openvino | Resize(keep_aspect_ratio_policy=not_larger). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
Resize (float[2,3,9,8] x0) => (float[2,3,5,4] y0) 
   <int64[2] c2 =  {5,13}>
{
   [""] y0 = Resize <axes: ints = [2, 3], keep_aspect_ratio_policy: string = "not_larger", mode: string = "linear"> (x0, "", "", c2)
}"""
inputs = [np.zeros((2, 3, 9, 8), 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected 0.0 at [0, 0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0, 0])
