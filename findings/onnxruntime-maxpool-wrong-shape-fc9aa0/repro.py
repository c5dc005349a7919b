"""wrong shape | onnxruntime | MaxPool(auto_pad=SAME_UPPER, dilations=[2]). Seen with onnxruntime 1.31.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 19],
   doc_string: ""
>
MaxPool (float[2,3,11] x0) => (float[2,3,11] y0) {
   [""] y0 = MaxPool <auto_pad: string = "SAME_UPPER", ceil_mode: int = 0, dilations: ints = [2], kernel_shape: ints = [4], strides: ints = [1]> (x0)
}"""
inputs = [np.zeros((2, 3, 11), 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession("model.onnx", options)
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print('expected 0.0 at [0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0])
