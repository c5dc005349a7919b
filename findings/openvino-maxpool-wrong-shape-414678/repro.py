"""wrong shape | openvino | MaxPool(auto_pad=SAME_LOWER, dilations=[2], strides=[3]). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 19],
   doc_string: ""
>
MaxPool (float[2,3,11] x0) => (float[2,3,4] y0) {
   [""] y0 = MaxPool <auto_pad: string = "SAME_LOWER", ceil_mode: int = 0, dilations: ints = [2], kernel_shape: ints = [4], strides: ints = [3]> (x0)
}"""
inputs = [np.zeros((2, 3, 11), 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected 0.0 at [0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0])
