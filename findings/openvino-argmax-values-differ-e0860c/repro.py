"""values differ | openvino | ArgMax(axis=1, select_last_index=1). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
ArgMax (float[2,3,11] x0) => (int64[2,1,11] y0) {
   [""] y0 = ArgMax <axis: int = 1, select_last_index: int = 1> (x0)
}"""
inputs = [np.where(np.arange(66).reshape((2, 3, 11)) == 0, np.nan, np.linspace(-1, 1, 66, dtype='float32').reshape((2, 3, 11))).astype('float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected 0.0 at [0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0])
