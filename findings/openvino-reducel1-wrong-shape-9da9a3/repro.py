"""wrong shape | openvino | ReduceL1(axes=[0, 2]). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 13],
   doc_string: ""
>
ReduceL1 (float[2,3,11] x0) => (float[3] y0) {
   [""] y0 = ReduceL1 <axes: ints = [0, 2], keepdims: int = 0> (x0)
}"""
inputs = [np.zeros((2, 3, 11), 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected [0., 0., 0.]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
