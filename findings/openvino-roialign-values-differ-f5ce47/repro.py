"""values differ | openvino | RoiAlign(mode=max). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18],
   doc_string: ""
>
RoiAlign (float[1,2,6,6] x0) => (float[2,2,2,3] y0) 
   <float[2,4] c0 =  {0,0,4,5,1,2,3,3}, int64[2] c1 =  {0,0}>
{
   [""] y0 = RoiAlign <coordinate_transformation_mode: string = "half_pixel", mode: string = "max", output_height: int = 2, output_width: int = 3, sampling_ratio: int = 0, spatial_scale: float = 0.5> (x0, c0, c1)
}"""
inputs = [np.ones((1, 2, 6, 6), 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected 0.3125 at [1, 0, 0, 1] of output 0')
print("actual  ", np.asarray(outputs[0])[1, 0, 0, 1])
