"""wrong shape | onnx2pytorch | Gather(axis=-1). Seen with onnx 1.23.2, onnx2pytorch 0.6.0, torch 2.13.0+cpu; see check.py."""
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
Gather (float[3,4] x0) => (float[3,3] y0) 
   <int64[3] c0 =  {0,2,-1}>
{
   [""] y0 = Gather <axis: int = -1> (x0, c0)
}"""
inputs = [np.zeros((3, 4), 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
module = onnx2pytorch.ConvertModel(onnx.load("model.onnx"))
with torch.no_grad():
    outputs = module.eval()(*(torch.from_numpy(x) for x in inputs))
outputs = [o.numpy() for o in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
print('expected [[0., 0., 0.], [0., 0., 0.], [0., 0., 0.]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
