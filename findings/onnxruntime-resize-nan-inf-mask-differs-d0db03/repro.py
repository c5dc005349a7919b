"""NaN/Inf mask differs | onnxruntime | Resize(antialias=1, coordinate_transformation_mode=half_pixel, mode=cubic). Seen with onnxruntime 1.31.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18]
>
Resize (float[2,3,9,8] x0) => (float[2,3,5,13] y0) 
   <int64[4] c2 =  {2,3,5,13}>
{
   [""] y0 = Resize <antialias: int = 1, coordinate_transformation_mode: string = "half_pixel", mode: string = "cubic"> (x0, "", "", c2)
}"""
inputs = [np.where(np.arange(432).reshape((2, 3, 9, 8)) % 216 == 69, np.inf, 0).astype('float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession("model.onnx", options)
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print('expected 3.4028234663852886e+38 at [0, 0, 3, 6] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 3, 6])
