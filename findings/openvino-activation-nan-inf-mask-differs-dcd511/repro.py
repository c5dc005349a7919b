"""NaN/Inf mask differs | openvino | Activation(). Seen with openvino 2026.4.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import openvino as ov

MODEL = """<
   ir_version: 9,
   opset_import: ["" : 20],
   producer_name: "pytorch",
   producer_version: "2.13.0",
   doc_string: ""
>
main_graph (float[batch,1,1,1,1] n0_input) => (float[batch,1,1,1,1] "5") {
   [""] "/Cast_output_0" = Cast <to: int = 1> (n0_input)
   [""] "/Cast_1_output_0" = Cast <to: int = 1> ("/Cast_output_0")
   [""] "/Cast_2_output_0" = Cast <to: int = 1> ("/Cast_1_output_0")
   [""] "/Cast_3_output_0" = Cast <to: int = 1> ("/Cast_2_output_0")
   [""] "5" = Relu ("/Cast_3_output_0")
}"""
inputs = [np.full((2, 1, 1, 1, 1), np.nan, 'float32')]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
hint = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model("model.onnx", "CPU", hint)
outputs = list(compiled(inputs).to_tuple())
print('expected [[[[[nan]]]], [[[[nan]]]]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
