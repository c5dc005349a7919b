"""NaN/Inf mask differs | onnxruntime | GlobalAveragePooling2D(). Seen with onnxruntime 1.31.1; see check.py."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
MODEL = """<
   ir_version: 9,
   opset_import: ["" : 20]
>
main_graph (float[batch,2,3,2] n0_input) => (float[batch,2] "5") {
   [""] "/Cast_output_0" = Cast <to: int = 1> (n0_input)
   [""] "/Cast_1_output_0" = Cast <to: int = 1> ("/Cast_output_0")
   [""] "/Cast_2_output_0" = Cast <to: int = 1> ("/Cast_1_output_0")
   [""] "/Constant_output_0" = Constant <value: tensor = int64[2] {1,2}> ()
   [""] "5" = ReduceMean <keepdims: int = 0> ("/Cast_2_output_0", "/Constant_output_0")
}"""
inputs = [np.array([2.244978992213885e+38, 4.1515392362896483e+37, -2.5810929994427192e+38, -1.2413123701771674e+38, -1.8944798887977565e+38, 2.3612716356860543e+38, -3.143219373135637e+38, 1.0176904885089703e+38, 2.5036849803662866e+38, -1.1682668945823842e+38, 1.3273313876628784e+38, 1.0957129631843455e+38, 1.7978246743038426e+38, -9.380805096339172e+37, -4.0997562163305652e+37, 1.4856371158001e+38, -2.9610454067888863e+38, 1.531116058618224e+38, -2.9594122671676003e+38, -8.972871076703807e+37, 2.2848361581501168e+38, 1.4074059351299031e+38, 3.227176785097185e+38, 2.8013267045866264e+38], 'float32').reshape((2, 2, 3, 2))]
onnx.save(onnx.parser.parse_model(MODEL), "model.onnx")
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession("model.onnx", options)
names = [i.name for i in session.get_inputs()]
outputs = session.run(None, dict(zip(names, inputs)))
print('expected [[ inf, 4.13374979e+37], [ inf, inf]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
