"""The document of an exported PyTorch program, rewritten with generated names.

PyTorch writes names of inputs, parameters and keywords into Python source that it executes, and
executes the guards that a file states. None of a file's texts is left in what is written here:
values become ``v0``, weights ``p0``, symbols of sizes ``s0``; a program takes its tensors and gives
its outputs by position; what only describes a program is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from asterism.core.files.limits import require_size_within_limit
from asterism.core.messages.errors import UserError
from asterism.models.foreign.names import NameMap
from asterism.models.foreign.size_expressions import ExpressionTerm, size_expression
from asterism.models.foreign.torch_operators import (
    only_computes,
    require_small_numbers,
    require_small_results,
    schema_of,
)
from asterism.models.foreign.torch_schema import Rewriting

#: Kinds of our names: values and nodes of the graph; weights and other constants.
VALUE, WEIGHT = "v", "p"

#: Symbols are named by what they stand for: sizes and numbers, known when it runs or not.
_SYMBOL = re.compile(r"(s|u|zf|zuf)\d{1,9}", re.ASCII)
#: Sums of them, and the like, whose ranges PyTorch states and does not read.
_SUM_OF_SYMBOLS = re.compile(r"[\w ()]{1,80}([-+*/][\w ()]{1,80}){1,20}", re.ASCII)
#: What stands in place of a check's words.
_CHECKED_SIZE = "a size is not what the program says"
#: The oldest is "": exports of before they were named.
_VERIFIERS = ("", "ATEN", "TRAINING")
_STRIDED, _POSITIONAL = 7, 1
#: Inputs that are constants.
_CONSTANTS = {"as_none", "as_int", "as_float", "as_bool", "as_string"}

#: Characters of a name; symbols of sizes; what reading expressions of them may cost: 6 seconds.
_LONGEST_NAME, _MOST_SYMBOLS, _HIGHEST_COST = 500, 200, 60_000
#: Items of a list or mapping: steps, inputs, axes.
_MOST = {
    **dict.fromkeys(("Graph.nodes", "Graph.tensor_values", "Graph.sym_int_values"), 50_000),
    **dict.fromkeys(("Graph.inputs", "GraphSignature.input_specs", "PayloadConfig.config"), 20_000),
    **dict.fromkeys(("TensorMeta.sizes", "TensorMeta.strides"), 64),
    "ExportedProgram.range_constraints": _MOST_SYMBOLS,
}

#: Takes integers and scales out of a weight that TorchAO's quantisation wrapped.
_UNWRAPS = "torch.ops.export.access_subclass_inner_tensor.default"


class ProgramRewriting:
    """Writes the documents of one archive anew, and keeps the names.

    Args:
        source: the file, for messages.
    """

    def __init__(self, source: str) -> None:
        self.names = NameMap()
        self._source = source
        self._symbols: set[str] = set()
        self._expressions: dict[str, ExpressionTerm] = {}
        self._cost = 0.0
        self._rewriting = Rewriting({**self._texts(), **_DROPPED, **_CHECKED}, _MOST, source)

    def program(self, document: Any) -> dict[str, Any]:
        """``models/model.json``, written anew.

        Raises:
            UserError: something in it is not of PyTorch's schema, or could do more than compute.
        """
        from torch._export.serde import schema

        document = _without_sums(document)
        program: dict[str, Any] = self._rewriting.anew(schema.ExportedProgram, document)
        module = program["graph_module"]
        graph, signature = module["graph"], module["signature"]
        graph["nodes"] = [self._with_known_arguments(node) for node in graph["nodes"]]
        require_small_numbers(graph["nodes"], self._source)
        require_small_results(graph["nodes"], self._source)
        self._leave_out_constants(graph, signature)
        self._require_tensors(graph)
        taken = sum("user_input" in spec for spec in signature["input_specs"])
        given = sum("user_output" in spec for spec in signature["output_specs"])
        module["module_call_graph"] = [_by_position(taken, given)]
        return program

    def payload(self, document: Any) -> dict[str, dict[str, Any]]:
        """A configuration of weights or constants, written anew: facts by names of ours.

        Raises:
            UserError: something in it is not of PyTorch's schema, or is a pickle.
        """
        from torch._export.serde import schema

        config: dict[str, Any] = self._rewriting.anew(schema.PayloadConfig, document)
        facts: dict[str, dict[str, Any]] = config["config"]
        return facts

    def _texts(self) -> dict[str, Callable[[Any], Any]]:
        value, weight = self._named(VALUE), self._named(WEIGHT)
        return {
            **dict.fromkeys(_VALUES, value),
            **dict.fromkeys(_WEIGHTS, weight),
            "Node.name": lambda name: None if name is None else value(name),
            "ExportedProgram.range_constraints{}": self._symbol,
            "SymExpr.expr_str": self._expression,
        }

    def _named(self, kind: str) -> Callable[[Any], str]:
        return lambda text: self.names.ours(kind, _name(text))

    def _symbol(self, text: str) -> str:
        kind = _SYMBOL.fullmatch(text)
        if kind is None:
            raise ValueError(f"{text!r:.80} is no symbol of a size")
        self._symbols.add(text)
        if len(self._symbols) > _MOST_SYMBOLS:
            raise ValueError(f"more than {_MOST_SYMBOLS} symbols of sizes")
        return self.names.ours(kind[1], text)

    def _expression(self, text: Any) -> str:
        text = _text(text)
        new = text not in self._expressions
        if new:
            self._expressions[text] = size_expression(text, self._symbol)
        term = self._expressions[text]
        self._cost += term.cost(new=new)
        if self._cost > _HIGHEST_COST:
            raise ValueError("too many or too large expressions of sizes")
        return term.text

    def _with_known_arguments(self, node: dict[str, Any]) -> dict[str, Any]:
        """A node whose arguments have the names that its operator knows."""
        schema = schema_of(node["target"])
        known = set() if schema is None else {argument.name for argument in schema.arguments}
        for given in node["inputs"]:
            if schema is None:
                given |= {"name": "", "kind": _POSITIONAL}
            elif given["name"] not in known:
                raise UserError(
                    f"{self._source} gives {node['target']} an argument {given['name']!r:.80}, "
                    "which it does not have: not opened"
                )
        return node

    def _leave_out_constants(self, graph: dict[str, Any], signature: dict[str, Any]) -> None:
        """Leave out inputs that are constants: the graph holds their values where it reads them."""
        inputs, specs = graph["inputs"], signature["input_specs"]
        constant = [bool(given.keys() & _CONSTANTS) for given in inputs]
        described = [
            "constant_input" in s
            or bool(s.get("user_input", {}).get("arg", {}).keys() & _CONSTANTS)
            for s in specs
        ]
        if constant != described:
            raise UserError(f"{self._source} describes inputs that it lacks: it is damaged")
        read = [i for i, left_out in enumerate(constant) if not left_out]
        graph["inputs"] = [inputs[i] for i in read]
        signature["input_specs"] = [specs[i] for i in read]

    def _require_tensors(self, graph: Mapping[str, Any]) -> None:
        """Reject inputs that are no tensors, and such as would fill the memory."""
        for given in graph["inputs"]:
            ours = given.get("as_tensor", {}).get("name")
            facts = graph["tensor_values"].get(ours)
            if facts is None:
                name = self.names.theirs(next(iter(given.get("as_sym_int", {}).values()), ""))
                raise UserError(
                    f"{self._source} has an input {name!r} that is no tensor of numbers"
                )
            what = f"{self._source} declares an input {self.names.theirs(ours)!r:.80}"
            require_size_within_limit(bytes_of(facts), "limits.model_mb", what)


def _without_sums(document: Any) -> Any:
    """A program's document without the ranges of what is no symbol by itself."""
    ranges = document.get("range_constraints") if isinstance(document, dict) else None
    if not isinstance(ranges, dict):
        return document
    kept = {name: r for name, r in ranges.items() if not _SUM_OF_SYMBOLS.fullmatch(name)}
    return document | {"range_constraints": kept}


def bytes_of(facts: Mapping[str, Any]) -> int:
    """Bytes of a tensor by its facts; free sizes count as one."""
    from torch._export.serde.serialize import _SERIALIZE_TO_TORCH_DTYPE

    kind = _SERIALIZE_TO_TORCH_DTYPE.get(facts["dtype"])
    count = 1 if kind is None else kind.itemsize
    for size in facts["sizes"]:
        count *= max(size.get("as_int", 1), 0)
    return count


def _by_position(inputs: int, outputs: int) -> dict[str, Any]:
    """The call of a program that takes its inputs in order, and gives a tuple."""
    from torch.utils import _pytree as pytree

    def of(tree: Any) -> str:
        spec: str = pytree.treespec_dumps(pytree.tree_structure(tree))
        return spec

    signature: dict[str, Any] = {
        "inputs": [],
        "outputs": [],
        "in_spec": of(((0,) * inputs, {})),
        "out_spec": of((0,) * outputs),
        "forward_arg_names": None,
    }
    return {"fqn": "", "signature": signature}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    return value


def _name(value: Any) -> str:
    text = _text(value)
    if len(text) > _LONGEST_NAME or not text.isprintable():
        raise ValueError(f"{text!r:.80} is no name: it is too long, or cannot be printed")
    return text


def _allowed(allows: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def rule(value: Any) -> Any:
        if not allows(value):
            raise ValueError(f"{value!r:.80} could do more than compute")
        return value

    return rule


def _target(value: Any) -> str:
    """The operator that a node calls."""
    if value == _UNWRAPS:
        raise ValueError(
            "weights of classes of their own, which are pickled: call "
            "torchao.utils.unwrap_tensor_subclass(model) before the export"
        )
    called: str = _computing(_text(value))
    return called


def _of(pattern: re.Pattern[str]) -> Callable[[Any], Any]:
    return _allowed(lambda value: isinstance(value, str) and bool(pattern.fullmatch(value)))


_computing = _allowed(only_computes)

#: Texts that operators take: modes, and equations of ``einsum``.
_option = _of(re.compile(r"[A-Za-z0-9_ ,.>-]{0,500}", re.ASCII))


def _is_assertion(value: Any) -> bool:
    """Whether a text is what a check of sizes says, which names steps of the file."""
    return isinstance(value, str) and value.startswith("Runtime assertion failed")


def _device(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or value.get("type") != "cpu":
        raise ValueError(f"{json.dumps(value)[:80]} is not the CPU: export the model there")
    return {"type": "cpu", "index": None}


#: Where names of values and of weights stand.
_VALUES = (
    "TensorArgument.name", "SymIntArgument.as_name", "SymFloatArgument.as_name",
    "SymBoolArgument.as_name", "Graph.tensor_values{}", "Graph.sym_int_values{}",
    "Graph.sym_bool_values{}", "Graph.sym_float_values{}", "UserInputMutationSpec.user_input_name",
)  # fmt: skip
_WEIGHTS = (
    "InputToParameterSpec.parameter_name", "InputToBufferSpec.buffer_name",
    "InputToTensorConstantSpec.tensor_constant_name", "BufferMutationSpec.buffer_name",
    "ParameterMutationSpec.parameter_name", "PayloadConfig.config{}",
)  # fmt: skip

#: What only describes a program, or is written by :class:`ProgramRewriting` itself.
_DROPPED: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("Node.metadata", "GraphModule.metadata"), lambda _: {}),
    "GraphModule.treespec_namedtuple_fields": lambda _: {},
    "GraphModule.module_call_graph": lambda _: [],
    "ExportedProgram.guards_code": lambda _: [],
    "ExportedProgram.opset_version": lambda _: {},
    "ExportedProgram.torch_version": lambda _: "",
    "Graph.is_single_tensor_return": lambda _: False,
    "Node.is_hop_single_tensor_return": lambda _: None,
    "InputSpec.constant_input": lambda _: {"name": "", "value": {"as_none": True}},
}

#: What stands in the file as it is written, where it is one of a few.
_CHECKED: dict[str, Callable[[Any], Any]] = {
    "Node.target": _target,
    "NamedArgument.name": _name,
    "Argument.as_string": lambda value: _CHECKED_SIZE if _is_assertion(value) else _option(value),
    "ExportedProgram.verifiers[]": _allowed(lambda value: value in _VERIFIERS),
    "Device": _device,
    "TensorMeta.layout": _allowed(lambda value: value == _STRIDED),
    "Argument.as_layout": _allowed(lambda value: value == _STRIDED),
    "PayloadMeta.use_pickle": _allowed(lambda value: value is False),
    "PayloadMeta.path_name": _of(re.compile(r"(weight|tensor)_\d{1,9}", re.ASCII)),
}
