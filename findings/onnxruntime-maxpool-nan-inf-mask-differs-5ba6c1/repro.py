"""NaN/Inf mask differs | onnxruntime | MaxPool(ceil_mode=0). Seen with onnxruntime 1.31.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
MaxPool (float[2,3,9,8] x0) => (float[2,3,9,8] y0) {
   [""] y0 = MaxPool <ceil_mode: int = 0, kernel_shape: ints = [3, 3], pads: ints = [1, 1, 1, 1], strides: ints = [1, 1]> (x0)
}"""
inputs = [np.where(np.arange(432).reshape((2, 3, 9, 8)) == 431, np.nan, np.linspace(-1, 1, 432, dtype='float32').reshape((2, 3, 9, 8))).astype('float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession("model.onnx", options)
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print('expected 0.9953595995903015 at [1, 2, 7, 6] of output 0')
print("actual  ", np.asarray(outputs[0])[1, 2, 7, 6])
