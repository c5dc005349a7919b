"""runtime crash | openvino | Einsum(equation=ii). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
Einsum (float[3,3] x0) => (float y0) {
   [""] y0 = Einsum <equation: string = "ii"> (x0)
}"""
inputs = [np.zeros((3, 3), 'float32')]
print("expected: it runs")
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print("actual: it runs")
