"""NaN/Inf mask differs | openvino | AdaptiveMaxPooling3D(). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 9,
   opset_import: ["" : 20]
>
main_graph (float[batch,2,2,2,1] n0_input) => (float[batch,2,2,2,1] "6") {
   [""] "/Cast_output_0" = Cast <to: int = 1> (n0_input)
   [""] "/Cast_1_output_0" = Cast <to: int = 1> ("/Cast_output_0")
   [""] "/Cast_2_output_0" = Cast <to: int = 1> ("/Cast_1_output_0")
   [""] "/Transpose_output_0" = Transpose <perm: ints = [0, 4, 1, 2, 3]> ("/Cast_2_output_0")
   [""] "/MaxPool_output_0" = MaxPool <kernel_shape: ints = [1, 1, 1], pads: ints = [0, 0, 0, 0, 0, 0], strides: ints = [1, 1, 1]> ("/Transpose_output_0")
   [""] "6" = Transpose <perm: ints = [0, 2, 3, 4, 1]> ("/MaxPool_output_0")
}"""
inputs = [np.full((2, 2, 2, 2, 1), np.nan, 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected nan at [0, 0, 0, 0, 0] of output 0')
print("actual  ", np.asarray(outputs[0])[0, 0, 0, 0, 0])
