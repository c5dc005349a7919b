"""runtime crash | onnx2torch | ReduceSum(keepdims=0, noop_with_empty_axes=0). Seen with onnx 1.23.2, onnx2torch 1.5.15, torch 2.13.0+cpu; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnx2torch
import torch

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
ReduceSum (float[2,3,11] x0) => (float y0) 
   <int64[0] c0 =  {}>
{
   [""] y0 = ReduceSum <keepdims: int = 0, noop_with_empty_axes: int = 0> (x0, c0)
}"""
inputs = [np.zeros((2, 3, 11), 'float32')]
print("expected: it runs")
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
module = onnx2torch.convert("model.onnx")
with torch.no_grad():
    outputs = module.eval()(*(torch.from_numpy(x) for x in inputs))
outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
print("actual: it runs")
