"""TensorFlow's compilers, and the converters that read its functions."""

from __future__ import annotations

from asterism.findings.calls.way import Way, openvino_way, way

_SIGNATURE = "signature = [tf.TensorSpec(x.shape, x.dtype) for x in inputs]\n"

way(
    "tensorflow:xla",
    Way(
        "tensorflow",
        "tensorflow",
        "actual = tf.function(f, jit_compile=True)(*inputs)",
        unsupported=(
            r"unsupported operations",
            r"not compilable",
            r"No registered",
            r"Negative dimension size",
        ),
    ),
)
way(
    "tensorflow:graph",
    Way(
        "tensorflow",
        "tensorflow",
        "actual = tf.function(f)(*inputs)",
    ),
)
way(
    "litert:tensorflow",
    Way(
        "tensorflow",
        "litert",
        f"{_SIGNATURE}traced = tf.function(f, input_signature=signature).get_concrete_function()\n"
        "content = tf.lite.TFLiteConverter.from_concrete_functions([traced]).convert()\n"
        "interpreter = Interpreter(model_content=content)\n"
        "interpreter.allocate_tensors()\n"
        "for given, x in zip(interpreter.get_input_details(), inputs):\n"
        '    interpreter.set_tensor(given["index"], np.array(x))\n'
        "interpreter.invoke()\n"
        'actual = [interpreter.get_tensor(y["index"]) for y in interpreter.get_output_details()]',
        imports="from ai_edge_litert.interpreter import Interpreter",
        packages=("ai-edge-litert",),
        unsupported=(
            r"Invalid tensor size",
            r"Negative dimension size",
            r"flex",
            r"Flex",
            r"custom op",
            r"failed to legalize",
            r"not supported",
        ),
    ),
)
way(
    "tf2onnx:onnxruntime",
    Way(
        "tensorflow",
        "tf2onnx",
        f"{_SIGNATURE}function = tf.function(f, input_signature=signature)\n"
        "model, _ = tf2onnx.convert.from_function(function, input_signature=signature, opset=18)\n"
        "session = ort.InferenceSession(model.SerializeToString())\n"
        "names = [given.name for given in session.get_inputs()]\n"
        "actual = session.run(None, {n: np.asarray(x) for n, x in zip(names, inputs)})",
        imports="import onnxruntime as ort\nimport tf2onnx",
        packages=("tf2onnx", "onnxruntime", "onnx"),
        unsupported=(
            r"not supported",
            r"NOT_IMPLEMENTED",
            r"No mapping",
            r"not implemented",
            r"No Op registered",
            r"complex(64|128)",
            r"bfloat16",
            r"MLDataType",
        ),
    ),
)
_OPENVINO = (
    f"{_SIGNATURE}function = tf.function(f, input_signature=signature)\n"
    "model = ov.convert_model(function)"
)
way(
    "openvino:tensorflow",
    openvino_way("tensorflow", _OPENVINO, (r"Negative dimension size", r"not support")),
)
