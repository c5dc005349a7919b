"""Small ONNX models, in ONNX's own textual form."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper, parser

_SHAPES = {
    "kernel": (4, 1, 3, 3), "dense": (144, 4), "bias": (4,), "half": (), "scale": (),
    "last": (5, 3),
}  # fmt: skip
_WHOLE = {
    "times": np.int64(3), "yes": np.bool_(True), "zero": np.uint8(128), "first": np.int64([0]),
}  # fmt: skip
_LAYERS = """
  [conv] c = Conv <auto_pad = "VALID"> (images, kernel)
  [relu] r = Relu (c)
  [flatten] f = Flatten <axis = 1> (r)
  [gemm] logits = Gemm (f, dense, bias)
"""


def _model(
    nodes: str, inputs: str = "float[N,1,8,8] images", outputs: str = "float[N,4] outputs",
    head: str = "", rest: str = "", **more: tuple[int, ...],
) -> onnx.ModelProto:  # fmt: skip
    opsets = 'opset_import: ["" : 17, "local" : 1]' if rest else 'opset_import: ["" : 17]'
    text = f"<ir_version: 9, {opsets}{head}>\nm ({inputs}) => ({outputs}) {{ {nodes} }}\n{rest}"
    model = parser.parse_model(text)
    rng = np.random.default_rng(0)
    used = {name for node in model.graph.node for name in node.input}
    used |= {n for n in _SHAPES | _WHOLE if f"{n})" in nodes}  # in graphs of nodes
    for name, shape in (_SHAPES | more).items():
        if name in used or name in more:
            array = np.asarray(rng.normal(size=shape), np.float32)
            model.graph.initializer.append(numpy_helper.from_array(array, name))
    for name, value in _WHOLE.items():
        if name in used:
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    onnx.checker.check_model(model)
    return model


def plain() -> onnx.ModelProto:
    """A classifier that every library runs."""
    return _model(f"{_LAYERS} outputs = Softmax <axis = 1> (logits)")


def looped() -> onnx.ModelProto:
    """A classifier with control flow."""
    body = "(int64 step, bool going, state) => (bool goes_on, next)"
    return _model(f"""{_LAYERS}
      looped = Loop (times, yes, logits) <body = body {body} {{
        goes_on = Identity (going)
        next = Mul (state, half)
      }}>
      outputs = Softmax <axis = 1> (looped)
    """)


def quantised() -> onnx.ModelProto:
    return _model(f"""{_LAYERS}
      q = QuantizeLinear (logits, scale, zero)
      outputs = DequantizeLinear (q, scale, zero)
    """)


def of_all_strings() -> onnx.ModelProto:
    """A classifier with a string in every kind of place that ONNX has."""
    model = _model(
        """
          [conv] c = Conv <auto_pad = "VALID"> (images, kernel)
          [relu] r = Relu (c)
          on = Constant <value = bool {1}> ()
          i = If (on) <
            then_branch = branch () => (b) { [neg] b = Neg (r) },
            else_branch = other () => (b) { [neg] b = Neg (r) }
          >
          [call] w = local.Twice <by = 1.0> (i)
          f = Flatten <axis = 1> (w)
          outputs = Einsum <equation = "ij,jk->ik"> (f, dense)
        """,
        head=', producer_name: "p", metadata_props: ["k" : "v"]',
        rest='<domain: "local", opset_import: ["" : 17]> Twice <by> (x) => (y) { y = Add (x, x) }',
    )
    model.graph.node[1].doc_string = model.graph.input[0].doc_string = "d"
    quantised = model.graph.quantization_annotation.add(tensor_name="f")
    quantised.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="dense")
    return model


def recurrent(kind: str = "LSTM") -> onnx.ModelProto:
    """A network of one recurrent node: ``LSTM``, ``GRU`` or ``RNN``."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    return _model(
        f"""
          t = Transpose <perm = [1, 0, 2]> (images)
          [cell] y, h = {kind} <hidden_size = 5> (t, w, r)
          s = Squeeze (h, first)
          logits = MatMul (s, last)
          outputs = Softmax <axis = -1> (logits)
        """,
        "float[N,8,4] images",
        "float[N,3] outputs",
        w=(1, gates * 5, 4),
        r=(1, gates * 5, 5),
    )
