"""runtime crash | onnx2pytorch | Resize(coordinate_transformation_mode=align_corners, mode=nearest). Seen with onnx 1.23.2, onnx2pytorch 0.6.0, torch 2.13.0+cpu; see check.py."""
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
Resize (float[2,3,9,8] x0) => (float[2,3,18,4] y0) 
   <int64[4] c2 =  {2,3,18,4}>
{
   [""] y0 = Resize <antialias: int = 0, coordinate_transformation_mode: string = "align_corners", mode: string = "nearest"> (x0, "", "", c2)
}"""
inputs = [np.full((2, 3, 9, 8), 0.0, 'float32')]
print("expected: it runs")
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
module = onnx2pytorch.ConvertModel(onnx.load("model.onnx"))
with torch.no_grad():
    outputs = module.eval()(*(torch.from_numpy(x) for x in inputs))
outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
print("actual: it runs")
