"""LiteRT files of a few operators, written by hand: no converter is imported for them."""

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

_TYPES = {"float32": schema.TensorType.FLOAT32, "resource": schema.TensorType.RESOURCE}
_CUSTOM = schema.BuiltinOperator.CUSTOM


class LiteFile:
    """A file that is being written, graph by graph; the first is the main one."""

    def __init__(self):
        self._model = schema.ModelT()
        self._model.version, self._model.subgraphs, self._model.operatorCodes = 3, [], []
        self._model.buffers = [schema.BufferT()]
        self._model.signatureDefs = []

    def graph(self, tensors, operators, inputs, outputs):
        """Add a graph.

        Args:
            tensors: by name a shape, an array for a constant, or None for a variable's handle.
            operators: each with its name, the tensors that it takes and those that it makes. One
                that the format does not have is a custom operator.
            inputs: names.
            outputs: names.
        """
        places = {name: place for place, name in enumerate(tensors)}
        graph = schema.SubGraphT()
        graph.name = f"graph{len(self._model.subgraphs)}"
        graph.tensors = [self._tensor(name, given) for name, given in tensors.items()]
        graph.operators = [
            self._operator(name, [places[t] for t in taken], [places[m] for m in made])
            for name, taken, made in operators
        ]
        graph.inputs = [places[name] for name in inputs]
        graph.outputs = [places[name] for name in outputs]
        self._model.subgraphs.append(graph)
        if len(self._model.subgraphs) == 1:
            signature = schema.SignatureDefT()
            signature.signatureKey, signature.subgraphIndex = "serving_default", 0
            signature.inputs = [_named(name, places[name]) for name in inputs]
            signature.outputs = [_named(name, places[name]) for name in outputs]
            self._model.signatureDefs.append(signature)

    def write(self, path):
        """Write the file."""
        builder = flatbuffers.Builder(1024)
        builder.Finish(self._model.Pack(builder), b"TFL3")
        path.write_bytes(bytes(builder.Output()))
        return path

    def _tensor(self, name, given):
        tensor = schema.TensorT()
        is_constant = isinstance(given, np.ndarray)
        shape = given.shape if is_constant else given or ()
        tensor.name, tensor.shape, tensor.buffer = name, list(shape), 0
        tensor.type = _TYPES["resource" if given is None else "float32"]
        if is_constant:
            tensor.buffer = len(self._model.buffers)
            self._model.buffers.append(schema.BufferT())
            self._model.buffers[-1].data = np.frombuffer(given.tobytes(), np.uint8)
        return tensor

    def _operator(self, name, inputs, outputs):
        code, operator = schema.OperatorCodeT(), schema.OperatorT()
        code.builtinCode, code.version = getattr(schema.BuiltinOperator, name, _CUSTOM), 1
        if code.builtinCode == _CUSTOM:
            code.customCode = name
        code.deprecatedBuiltinCode = min(127, code.builtinCode)
        operator.opcodeIndex = len(self._model.operatorCodes)
        self._model.operatorCodes.append(code)
        operator.inputs, operator.outputs = inputs, outputs
        kind = f"{name.title().replace('_', '')}Options"
        if hasattr(schema, f"{kind}T"):
            options = getattr(schema, f"{kind}T")()
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
            if name == "VAR_HANDLE":
                options.container, options.sharedName = "", "sum"
            if name == "CALL_ONCE":
                options.initSubgraphIndex = 1
            operator.builtinOptions = options
        return operator


def _named(name, place):
    entry = schema.TensorMapT()
    entry.name, entry.tensorIndex = name, place
    return entry


def lite_linear(path, weights, batch=1):
    """``x @ weights``, ``x`` float32 ``(batch, F)``."""
    tensors = {
        "x": (batch, len(weights)),
        "w": np.ascontiguousarray(weights.T, np.float32),
        "y": (batch, weights.shape[1]),
    }
    file = LiteFile()
    file.graph(tensors, [("FULLY_CONNECTED", ["x", "w"], ["y"])], ["x"], ["y"])
    return file.write(path)


def lite_of_others(path, operator):
    """One operator that is not the format's own."""
    file = LiteFile()
    file.graph({"x": (1, 2), "y": (1, 2)}, [(operator, ["x"], ["y"])], ["x"], ["y"])
    return file.write(path)


def lite_streaming(path):
    """A running sum: ``state_out = state_in + x``; the answer is its opposite."""
    file = LiteFile()
    file.graph(
        {"x": (1, 2), "state_in": (1, 2), "state_out": (1, 2), "y": (1, 2)},
        [("ADD", ["x", "state_in"], ["state_out"]), ("NEG", ["state_out"], ["y"])],
        ["x", "state_in"],
        ["y", "state_out"],
    )
    return file.write(path)


def lite_variable(path, start=0.0):
    """A running sum of the inputs, in a variable that the file keeps inside itself."""
    file = LiteFile()
    file.graph(
        {"x": (1, 2), "handle": None, "before": (1, 2), "y": (1, 2)},
        [
            ("CALL_ONCE", [], []),
            ("VAR_HANDLE", [], ["handle"]),
            ("READ_VARIABLE", ["handle"], ["before"]),
            ("ADD", ["x", "before"], ["y"]),
            ("ASSIGN_VARIABLE", ["handle", "y"], []),
        ],
        ["x"],
        ["y"],
    )
    file.graph(
        {"handle": None, "start": np.full((1, 2), start, np.float32)},
        [("VAR_HANDLE", [], ["handle"]), ("ASSIGN_VARIABLE", ["handle", "start"], [])],
        [],
        [],
    )
    return file.write(path)
