"""LiteRT graphs rewritten so that the converter to ONNX reads them correctly.

A streaming LiteRT file keeps its state in variables: a graph of its own fills them once, and the
main graph reads and assigns them in each call. Converters to ONNX know no variables. Here each
becomes an input and an output of the main graph, named ``NAME_in`` and ``NAME_out``.

Quantised inputs and outputs become real ones. And dense layers take matrices: of other inputs
tf2onnx (1.17) makes matrices itself, but loses the layer's bias.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from asterism.core.messages.errors import UserError, prefix_errors, reading

#: Numbers of a quantised tensor, by LiteRT's names of types.
_INTEGERS = {"INT8": np.int8, "UINT8": np.uint8, "INT16": np.int16}


def make_convertible(content: bytes, name: str) -> bytes:
    """A LiteRT file with all inputs, outputs and variables turned into ones of real numbers.

    Args:
        content: the content of the file.
        name: the name of the file, for messages.

    Returns:
        The file's content; as it was where nothing has to be changed.

    Raises:
        UserError: the file is damaged, or its variables cannot become inputs and outputs.
    """
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    with reading(name), prefix_errors(name):
        model = schema.ModelT.InitFromPackedBuf(content, 0)
        graph = _LiteGraph(model, schema)
        graph.name_apart()
        graph.open_variables()
        graph.give_real_numbers()
        graph.give_matrices()
        if not graph.changed:
            return content
        model.signatureDefs = []
        builder = flatbuffers.Builder(len(content))
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


class _LiteGraph:
    """The main graph of a LiteRT model that is being changed.

    Args:
        model: flatbuffers' object of the file.
        schema: the module with the format's classes.

    Attributes:
        changed: whether anything is other than it was.
    """

    def __init__(self, model: Any, schema: Any) -> None:
        self._model, self._schema = model, schema
        self._graph = model.subgraphs[0]
        self._operators = {
            number: name for name, number in vars(schema.BuiltinOperator).items() if name.isupper()
        }
        self._types = {
            number: name for name, number in vars(schema.TensorType).items() if name.isupper()
        }
        self.changed = False

    def name_apart(self) -> None:
        """Give names to tensors that have none, or another's: the converter takes those for one."""
        taken: set[str] = set()
        for place, tensor in enumerate(self._graph.tensors):
            name = _text(tensor.name or "")
            if not name or name in taken:
                name = f"{name}/tensor{place}"
                self._call(place, name)
                self.changed = True
            taken.add(name)

    def open_variables(self) -> None:
        """Make each variable an input and an output of the graph.

        Raises:
            UserError: one does not begin at zero, or the graph does not assign it; or operators
                keep state of their own.
        """
        graph = self._graph
        kept_inside = sorted(_text(t.name) for t in graph.tensors if t.isVariable)
        if kept_inside:
            raise UserError(f"an operator keeps the state {kept_inside[0]} itself")
        handles: dict[int, str] = {}
        before: dict[str, int] = {}
        now: dict[str, int] = {}
        same: dict[int, int] = {}
        kept = []
        for node in graph.operators:
            kind = self._kind(node)
            node.inputs = [same.get(int(i), int(i)) for i in node.inputs]
            if kind == "VAR_HANDLE":
                handles[int(node.outputs[0])] = _variable(node)
            elif kind == "CALL_ONCE":
                self._require_zeros(self._model.subgraphs[node.builtinOptions.initSubgraphIndex])
            elif kind == "READ_VARIABLE":
                name, made = handles[node.inputs[0]], int(node.outputs[0])
                same[made] = now.setdefault(name, made)
                before.setdefault(name, now[name])
            elif kind == "ASSIGN_VARIABLE":
                now[handles[node.inputs[0]]] = node.inputs[1]
            else:
                kept.append(node)
        if not handles:
            return
        graph.operators, self.changed = kept, True
        graph.outputs = [same.get(int(i), int(i)) for i in graph.outputs]
        for name, taken in sorted(before.items()):
            if now[name] == taken:
                raise UserError(f"its variable {name} is read and never assigned")
            self._call(taken, f"{name}_in")
            graph.inputs = [*graph.inputs, taken]
            given = now[name]
            if given in graph.outputs or given in graph.inputs:
                copy, given = self._reshaped(given, list(graph.tensors[given].shape))
                graph.operators = [*graph.operators, copy]
            self._call(given, f"{name}_out")
            graph.outputs = [*graph.outputs, given]

    def give_real_numbers(self) -> None:
        """Take and give what integers stand for, wherever the file says it."""
        graph = self._graph
        places = [int(place) for place in graph.inputs]
        for number, place in enumerate(places):
            if self._is_quantised(place):
                real = self._real(place)
                node = self._operator("QUANTIZE", real, place)
                graph.operators = [node, *graph.operators]
                graph.inputs = [*graph.inputs[:number], real, *graph.inputs[number + 1 :]]
        for number, place in enumerate([int(place) for place in graph.outputs]):
            if self._is_quantised(place):
                real = self._real(place)
                graph.operators = [*graph.operators, self._operator("DEQUANTIZE", place, real)]
                graph.outputs = [*graph.outputs[:number], real, *graph.outputs[number + 1 :]]

    def give_matrices(self) -> None:
        """Give dense layers matrices, where they take others."""
        tensors, nodes = self._graph.tensors, []
        for node in self._graph.operators:
            if self._kind(node) == "FULLY_CONNECTED" and not node.builtinOptions.keepNumDims:
                taken, width = int(node.inputs[0]), int(tensors[node.inputs[1]].shape[1])
                sizes = [int(size) for size in tensors[taken].shape]
                if len(sizes) != 2:
                    rows = int(np.prod(sizes)) // width
                    matrix, made = self._reshaped(taken, [rows, width])
                    node.inputs = [made, *node.inputs[1:]]
                    nodes.append(matrix)
            nodes.append(node)
        self._graph.operators = nodes

    def _require_zeros(self, graph: Any) -> None:
        """Empty the graph that fills the variables, if it fills them with zeros.

        Raises:
            UserError: it does not.
        """
        handles: dict[int, str] = {}
        for node in graph.operators:
            kind = self._kind(node)
            if kind == "VAR_HANDLE":
                handles[int(node.outputs[0])] = _variable(node)
            elif kind != "ASSIGN_VARIABLE" or self._stored(graph.tensors[node.inputs[1]]).any():
                names = ", ".join(sorted(handles.values())) or kind
                raise UserError(f"its variables do not all begin at zero ({names})")
        graph.operators = []

    def _stored(self, tensor: Any) -> Any:
        """What a constant's integers are above their zero point, or its floats."""
        data = self._model.buffers[tensor.buffer].data
        dtype: Any = _INTEGERS.get(self._types[tensor.type], np.float32)
        if data is None or not len(data):
            raise UserError("its variables are filled with what is no constant")
        values = np.frombuffer(bytes(data), dtype).astype(np.float64)
        return values - tensor.quantization.zeroPoint[0] if self._scaled(tensor) else values

    def _scaled(self, tensor: Any) -> bool:
        facts = tensor.quantization
        return facts is not None and facts.scale is not None and len(facts.scale) == 1

    def _is_quantised(self, place: int) -> bool:
        tensor = self._graph.tensors[place]
        return self._types[tensor.type] in _INTEGERS and self._scaled(tensor)

    def _real(self, place: int) -> int:
        """A new tensor for the real numbers of a quantised one, which leaves its name to it."""
        tensor = self._graph.tensors[place]
        real = self._tensor(tensor, self._schema.TensorType.FLOAT32)
        self._call(real, _text(tensor.name))
        self._call(place, f"{_text(tensor.name)}/levels")
        self.changed = True
        return real

    def _reshaped(self, place: int, sizes: list[int]) -> tuple[Any, int]:
        """An operator that gives a tensor another shape, and the tensor that it makes."""
        tensor = self._graph.tensors[place]
        made, shape = (
            self._tensor(tensor, kind) for kind in (tensor.type, self._schema.TensorType.INT32)
        )
        graph = self._graph
        graph.tensors[made].shape, graph.tensors[shape].shape = sizes, [len(sizes)]
        graph.tensors[made].quantization = tensor.quantization
        for number, part in ((made, "reshaped"), (shape, "sizes")):
            self._call(number, f"{_text(tensor.name)}/{part}{number}")
        graph.tensors[shape].buffer = len(self._model.buffers)
        buffer = self._schema.BufferT()
        buffer.data = np.frombuffer(np.asarray(sizes, np.int32).tobytes(), np.uint8)
        self._model.buffers.append(buffer)
        node = self._operator("RESHAPE", place, made)
        node.inputs = [place, shape]
        self.changed = True
        return node, made

    def _tensor(self, like: Any, kind: int) -> int:
        """A new tensor of the same shape, without values."""
        tensor = self._schema.TensorT()
        tensor.shape, tensor.type, tensor.buffer = list(like.shape), kind, 0
        tensor.hasRank = True
        self._graph.tensors.append(tensor)
        return len(self._graph.tensors) - 1

    def _operator(self, kind: str, given: int, made: int) -> Any:
        code, node = self._schema.OperatorCodeT(), self._schema.OperatorT()
        code.builtinCode, code.version = getattr(self._schema.BuiltinOperator, kind), 1
        code.deprecatedBuiltinCode = code.builtinCode
        node.opcodeIndex = len(self._model.operatorCodes)
        self._model.operatorCodes.append(code)
        node.inputs, node.outputs = [given], [made]
        return node

    def _kind(self, node: Any) -> str:
        code = self._model.operatorCodes[node.opcodeIndex]
        number = max(int(code.builtinCode), int(code.deprecatedBuiltinCode))
        name: str = self._operators.get(number, "")
        return name

    def _call(self, place: int, name: str) -> None:
        self._graph.tensors[place].name = name


def _variable(node: Any) -> str:
    return _text(node.builtinOptions.sharedName)


def _text(name: Any) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
