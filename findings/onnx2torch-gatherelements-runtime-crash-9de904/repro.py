"""runtime crash | onnx2torch | GatherElements(). Seen with onnx 1.23.2, onnx2torch 1.5.15, torch 2.13.0+cpu; see check.py."""
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
GatherElements (float[3,4] x0) => (float[2,4] y0) 
   <int64[2,4] c0 =  {0,1,2,0,-1,0,-2,1}>
{
   [""] y0 = GatherElements <axis: int = -2> (x0, c0)
}"""
inputs = [np.zeros((3, 4), 'float32')]
print("expected: it runs")
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
module = onnx2torch.convert("model.onnx")
with torch.no_grad():
    outputs = module.eval()(*(torch.from_numpy(x) for x in inputs))
outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
print("actual: it runs")
