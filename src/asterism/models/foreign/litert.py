"""LiteRT (TensorFlow Lite) files, checked as a whole before anything else reads them.

In a FlatBuffer any number of tables may share one vector, so a small file can declare billions of
elements, which every reader would visit one by one. One walk of the file counts them.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import require_file
from asterism.core.files.limits import read_within_limit, require_size_within_limit
from asterism.core.messages.errors import UserError, reading
from asterism.models.foreign.names import require_plain_text

#: Tables of a file: tensors, operators, their options and all others. Large models have thousands.
_MOST_TABLES = 100_000
#: Inputs and outputs of all operators.
_MOST_ENDS = 1_000_000
#: Inputs of a graph, and outputs.
_MOST_NAMED = 1000
#: Axes of a tensor.
_MOST_AXES = 32
#: Each byte of a file belongs to one part of it, or to two: some converters share equal vectors.
_SHARED = 2
#: Bytes of an offset, which each part of a vector and each table takes.
_OFFSET = 4

#: The enumerations of a union's types, where they are not called as the field is.
_UNIONS = {
    "Details": "QuantizationDetails",
    "ArraySegments": "SparseIndexVector",
    "ArrayIndices": "SparseIndexVector",
}


def read_litert(path: Path) -> bytes:
    """The content of a LiteRT file, which any reader of the format can read in linear time.

    Every string in it is plain text, every number of a tensor, buffer or operator leads to one, and
    all values are in the file itself.

    Raises:
        UserError: missing, damaged, with data in other files, larger than ``limits.model_mb``, or
            with tensors that exceed ``limits.array_mb``; or it declares more than it can hold.
    """
    from ai_edge_litert import schema_py_generated as schema

    require_file(path, "model file")
    with reading(str(path)):
        content = read_within_limit(path, "limits.model_mb")
        if content[4:8] != b"TFL3":
            raise UserError(f"{path} is no LiteRT file, or is damaged")
        model = schema.Model.GetRootAs(content)
        _Walk(path, len(content), schema).visit(model)
        if model.ExternalBufferGroupsLength() or model.ExternalBuffersLength():
            raise UserError(f"{path} keeps data in other files: convert it into one file")
        _require_numbers_that_lead_somewhere(model, len(content))
        _require_small_tensors(model, path)
    return content


class _Walk:
    """A visit to every table of a file, by the accessors that the format's schema generates.

    Offsets of a FlatBuffer lead forward only, and no table of this format holds one of its own
    kind: so a walk ends, and sharing is all that can make it long.

    Args:
        path: the file, for messages.
        size: its bytes.
        schema: the module with the format's classes.
    """

    def __init__(self, path: Path, size: int, schema: Any) -> None:
        self._path, self._schema = path, schema
        self._bytes, self._tables = _SHARED * size, _MOST_TABLES

    def visit(self, table: Any) -> None:
        """Count a table and all that it leads to.

        Raises:
            UserError: the file declares too much, or holds a string that is no plain text.
            Exception: an offset leads out of the file.
        """
        self._count(_OFFSET, tables=1)
        kind: type = type(table)
        for name, form in _fields(kind):
            if form == "numbers":
                values = getattr(table, f"{name}AsNumpy")()  # 0 where there are none
                self._count(values.nbytes if isinstance(values, np.ndarray) else 0)
            elif form == "parts":
                count = getattr(table, f"{name}Length")()
                self._count(_OFFSET * count)
                for number in range(count):
                    self._visit_value(getattr(table, name)(number))
            elif form == "union":
                self._visit_union(table, name)
            else:
                self._visit_value(getattr(table, name)())

    def _visit_value(self, value: Any) -> None:
        """A field, or a part of a vector: a table, a string or a number."""
        if isinstance(value, bytes):
            self._count(len(value))
            require_plain_text(value)
        elif hasattr(value, "_tab"):
            self.visit(value)

    def _visit_union(self, table: Any, name: str) -> None:
        number, value = getattr(table, f"{name}Type")(), getattr(table, name)()
        known = enumeration_names(getattr(self._schema, _UNIONS.get(name, name)))
        if number not in known:
            raise UserError(f"{self._path} has {name} of a kind that is not known here ({number})")
        if value is not None and number:
            inner = getattr(self._schema, known[number])()
            inner.Init(value.Bytes, value.Pos)
            self.visit(inner)

    def _count(self, taken: int, tables: int = 0) -> None:
        self._bytes -= taken
        self._tables -= tables
        if self._tables < 0:
            raise UserError(f"{self._path} has more than {_MOST_TABLES:,} parts: not opened")
        if self._bytes < 0:
            raise UserError(
                f"{self._path} declares more than its bytes can hold: many of its parts overlap"
            )


@cache
def enumeration_names(enumeration: type) -> dict[int, str]:
    """Names of the numbers of one of the schema's enumerations."""
    return {number: name for name, number in vars(enumeration).items() if isinstance(number, int)}


@cache
def _fields(kind: type) -> tuple[tuple[str, str], ...]:
    """Names of a class' fields, and what each holds, by the names of the class' accessors."""
    names = {name for name in vars(kind) if name[0].isupper() and not name.startswith("GetRoot")}
    helpers = ("Length", "AsNumpy", "IsNone", "BufferHasIdentifier")
    fields = sorted(name for name in names - {"Init"} if not name.endswith(helpers))
    found = []
    for name in fields:
        form = "value"
        if f"{name}Length" in names:
            form = "numbers" if f"{name}AsNumpy" in names else "parts"
        elif f"{name}Type" in names:
            form = "union"
        found.append((name, form))
    return tuple(found)


def _require_numbers_that_lead_somewhere(model: Any, size: int) -> None:
    """Reject numbers of tensors, buffers, operators and graphs that are of none.

    Args:
        model: whose offsets have been followed.
        size: bytes of the file.

    Raises:
        ValueError: there is such a number, or there are too many.
    """
    ends = 0
    codes, buffers = model.OperatorCodesLength(), model.BuffersLength()
    graphs = [model.Subgraphs(number) for number in range(model.SubgraphsLength())]
    if not graphs:
        raise ValueError("it holds no graph")
    for graph in graphs:
        count = graph.TensorsLength()
        for number in range(count):
            if graph.Tensors(number).Buffer() >= buffers:
                raise ValueError("a tensor has a buffer that is not there")
        if max(graph.InputsLength(), graph.OutputsLength()) > _MOST_NAMED:
            raise ValueError(f"a graph has more than {_MOST_NAMED:,} inputs or outputs")
        links = [(graph.InputsAsNumpy(), 0), (graph.OutputsAsNumpy(), 0)]
        for number in range(graph.OperatorsLength()):
            operator = graph.Operators(number)
            if operator.OpcodeIndex() >= codes:
                raise ValueError("an operator is of a kind that is not there")
            links += [(operator.InputsAsNumpy(), -1), (operator.OutputsAsNumpy(), 0)]
        for tensors, least in links:
            places = numbers_in(tensors)
            ends += len(places)
            if len(places) and (places.min() < least or places.max() >= count):
                raise ValueError("an input or output is a tensor that is not there")
    if ends > _MOST_ENDS:
        raise ValueError(f"its operators have more than {_MOST_ENDS:,} inputs and outputs")
    for number in range(buffers):
        buffer = model.Buffers(number)
        if buffer.Offset() + buffer.Size() > size:
            raise ValueError("a buffer lies outside of the file")


def _require_small_tensors(model: Any, path: Path) -> None:
    declared = 0
    stored = [model.Buffers(number).DataLength() for number in range(model.BuffersLength())]
    for number in range(model.SubgraphsLength()):
        graph = model.Subgraphs(number)
        for index in range(graph.TensorsLength()):
            tensor = graph.Tensors(index)
            sizes = numbers_in(tensor.ShapeAsNumpy()).tolist()
            if max(len(sizes), tensor.ShapeSignatureLength()) > _MOST_AXES:
                raise ValueError(f"a tensor has more than {_MOST_AXES} axes")
            if min(sizes, default=0) < 0:
                raise ValueError("a tensor has a size below 0")
            values = math.prod(max(1, size) for size in sizes)
            declared += max(values, stored[tensor.Buffer()])  # several tensors may have one buffer
    # A byte each: most tensors of a compressed model are no wider.
    require_size_within_limit(declared, "limits.array_mb", f"{path} declares tensors")


def numbers_in(values: Any) -> NDArray[Any]:
    """A vector of numbers as the schema's classes give it: 0 where there is none."""
    return values if isinstance(values, np.ndarray) else np.zeros(0, np.int64)
