"""NaN/Inf mask differs | onnx2pytorch | MaxPool(ceil_mode=1). Seen with onnx 1.23.2, onnx2pytorch 0.6.0, torch 2.13.0+cpu; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnx2pytorch
import torch

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
MaxPool (float[2,3,9,8] x0) => (float[2,3,7,6] y0) {
   [""] y0 = MaxPool <ceil_mode: int = 1, kernel_shape: ints = [3, 3], strides: ints = [1, 1]> (x0)
}"""
inputs = [np.where(np.arange(432).reshape((2, 3, 9, 8)) == 0, np.nan, np.linspace(-1, 1, 432, dtype='float32').reshape((2, 3, 9, 8))).astype('float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
module = onnx2pytorch.ConvertModel(onnx.load("model.onnx"))
with torch.no_grad():
    outputs = module.eval()(*(torch.from_numpy(x) for x in inputs))
outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
print('expected -0.9164733290672302 at [0, 0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0, 0])
