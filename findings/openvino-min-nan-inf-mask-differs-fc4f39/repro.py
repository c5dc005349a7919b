"""NaN/Inf mask differs | openvino | Min(). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
Min (float[2,5] x0, float[1,5] x1) => (float[2,5] y0) {
   [""] y0 = Min (x0, x1)
}"""
inputs = [np.full((2, 5), np.nan, 'float32'), np.linspace(-1, 1, 5, dtype='float32').reshape((1, 5))]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected [[nan, nan, nan, nan, nan], [nan, nan, nan, nan, nan]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
