"""values differ | openvino | ReduceL2(noop_with_empty_axes=1). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
ReduceL2 (float[2,3,11] x0) => (float[2,3,11] y0) {
   [""] y0 = ReduceL2 <keepdims: int = 0, noop_with_empty_axes: int = 1> (x0)
}"""
inputs = [np.linspace(-1, 1, 66, dtype='float32').reshape((2, 3, 11))]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected 1.0 at [0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0])
