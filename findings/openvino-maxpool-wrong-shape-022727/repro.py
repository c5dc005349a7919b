"""wrong shape | openvino | MaxPool(storage_order=1). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
MaxPool (float[1,2,5,6] x0) => (float[1,2,2,3] y0, int64[1,2,2,3] y1) {
   [""] y0, y1 = MaxPool <ceil_mode: int = 0, kernel_shape: ints = [2, 2], storage_order: int = 1, strides: ints = [2, 2]> (x0)
}"""
inputs = [np.zeros((1, 2, 5, 6), 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected 0.0 at [0, 0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0, 0])
