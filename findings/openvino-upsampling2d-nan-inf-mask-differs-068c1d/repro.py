"""NaN/Inf mask differs | openvino | UpSampling2D(dtype=float64). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 8,
   opset_import: ["" : 18, "ai.onnx.ml" : 2]
>
tf2onnx (float[unk__0,1,1,1] input_0) => (double[unk__1,2,2,1] "Identity:0") 
   <int64[4] twice =  {1,2,2,1}>
{
   [""] wide = Cast <to: int = 11> (input_0)
   [""] "Identity:0" = Tile (wide, twice)
}"""
inputs = [np.full((2, 1, 1, 1), np.inf, 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "bf16"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected [[[[inf], [inf]], [[inf], [inf]]], [[[inf], [inf]], [[inf], [inf]]]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
