"""NaN/Inf mask differs | onnx2pytorch | Det(). Seen with onnx 1.23.2, onnx2pytorch 0.6.0, torch 2.13.0+cpu; see check.py."""
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
Det (float[2,4,4] x0) => (float[2] y0) {
   [""] y0 = Det (x0)
}"""
inputs = [np.where(np.arange(32).reshape((2, 4, 4)) == 31, np.inf, np.random.default_rng(0).normal(size=(2, 4, 4)).astype('float32')).astype('float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
module = onnx2pytorch.ConvertModel(onnx.load("model.onnx"))
with torch.no_grad():
    outputs = module.eval()(*(torch.from_numpy(x) for x in inputs))
outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
print('expected [-1.88476264, inf]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
