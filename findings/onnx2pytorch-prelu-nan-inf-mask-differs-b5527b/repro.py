"""NaN/Inf mask differs | onnx2pytorch | PRelu(). Seen with onnx 1.23.2, onnx2pytorch 0.6.0, torch 2.13.0+cpu; see check.py."""
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
PRelu (float[2,5] x0, float[1,1] x1) => (float[2,5] y0) {
   [""] y0 = PRelu (x0, x1)
}"""
inputs = [np.where(np.arange(10).reshape((2, 5)) == 0, np.nan, np.linspace(-1, 1, 10, dtype='float32').reshape((2, 5))).astype('float32'), np.full((1, 1), np.nan, 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
module = onnx2pytorch.ConvertModel(onnx.load("model.onnx"))
with torch.no_grad():
    outputs = module.eval()(*(torch.from_numpy(x) for x in inputs))
outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
print('expected [[ nan, nan, nan, nan, nan], [0.11111111, 0.33333334, 0.55555558, 0.77777779, 1. ]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
