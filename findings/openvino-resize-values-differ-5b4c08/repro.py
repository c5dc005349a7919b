"""values differ | openvino | Resize(exclude_outside=1). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
Resize (float[2,3,9,8] x0) => (float[2,3,5,13] y0) 
   <int64[4] c2 =  {2,3,5,13}>
{
   [""] y0 = Resize <coordinate_transformation_mode: string = "align_corners", cubic_coeff_a: float = -0.5, exclude_outside: int = 1, mode: string = "cubic"> (x0, "", "", c2)
}"""
inputs = [np.linspace(-1, 1, 432, dtype='float32').reshape((2, 3, 9, 8))]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected 0.8491553471286495 at [1, 2, 2, 11] of output 0')
print("actual  ", np.asarray(outputs[0])[1, 2, 2, 11])
