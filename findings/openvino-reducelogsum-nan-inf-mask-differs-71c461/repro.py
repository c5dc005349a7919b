"""NaN/Inf mask differs | openvino | ReduceLogSum(noop_with_empty_axes=1). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
ReduceLogSum (float[2,3,11] x0) => (float[2,3,11] y0) {
   [""] y0 = ReduceLogSum <keepdims: int = 0, noop_with_empty_axes: int = 1> (x0)
}"""
inputs = [np.zeros((2, 3, 11), 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected -inf at [0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0])
