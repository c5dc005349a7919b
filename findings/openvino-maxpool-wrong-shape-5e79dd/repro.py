"""wrong shape | openvino | MaxPool(ceil_mode=1, kernel_shape=[1, 1], strides=[3, 2]). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 19],
   doc_string: ""
>
MaxPool (float[2,3,9,8] x0) => (float[2,3,4,5] y0) {
   [""] y0 = MaxPool <ceil_mode: int = 1, kernel_shape: ints = [1, 1], strides: ints = [3, 2]> (x0)
}"""
inputs = [np.zeros((2, 3, 9, 8), 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected 0.0 at [0, 0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0, 0])
