"""values differ | onnx2pytorch | Resize(coordinate_transformation_mode=asymmetric). Seen with onnx 1.23.2, onnx2pytorch 0.6.0, torch 2.13.0+cpu; see check.py."""
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
Resize (float[2,3,9,8] x0) => (float[2,3,5,13] y0) 
   <int64[4] c2 =  {2,3,5,13}>
{
   [""] y0 = Resize <antialias: int = 0, coordinate_transformation_mode: string = "asymmetric", mode: string = "nearest"> (x0, "", "", c2)
}"""
inputs = [np.linspace(-1, 1, 432, dtype='float32').reshape((2, 3, 9, 8))]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
module = onnx2pytorch.ConvertModel(onnx.load("model.onnx"))
with torch.no_grad():
    outputs = module.eval()(*(torch.from_numpy(x) for x in inputs))
outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
print('expected -0.9211136698722839 at [0, 0, 1, 1] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 1, 1])
