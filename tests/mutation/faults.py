"""The small faults that can be put into a function, as edits of its text.

A fault is named by its file, its function and the change, not by a line, so that its name stays
when the code around it moves.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef

#: Each comparison with its fault: the boundary itself, or the opposite.
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}

ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}

#: Names of functions and methods, each with the one that is put in its place.
OPPOSITES = {
    one: other
    for pair in (
        ("min", "max"),
        ("any", "all"),
        ("minimum", "maximum"),
        ("argmin", "argmax"),
        ("floor", "ceil"),
        ("zeros", "ones"),
        ("sum", "max"),
        ("mean", "sum"),
        ("startswith", "endswith"),
        ("union", "intersection"),
    )
    for one, other in (pair, pair[::-1])
} | {"max": "min", "sum": "max"}

#: Calls whose arguments nobody would swap.
UNSWAPPED = frozenset({"isinstance", "issubclass", "zip", "getattr", "empty", "full", "array"})
#: Calls that only tell a person something: what is in them is no fault.
TELLING = frozenset({"log", "_log", "logger", "logging", "warnings", "print", "echo"})
#: What holds no behaviour, or only the text of an error.
SILENT = (
    ast.Raise,
    ast.Assert,
    ast.JoinedStr,
    ast.arguments,
    ast.Import,
    ast.ImportFrom,
    ast.Global,
    ast.Nonlocal,
)
#: Keyword arguments that only tell a person something, or a type checker.
TEXTS = frozenset(
    {
        "label",
        "unit",
        "verbose",
        "desc",
        "description",
        "title",
        "help",
        "message",
        "name",
        "strict",
        "dtype",
    }
)
#: Functions that only tell a person, or a type checker, something.
UNTOLD = frozenset({"__repr__", "__str__", "__rich__"})
TYPES_ONLY = frozenset({"overload", "abstractmethod"})


@dataclass(frozen=True)
class Fault:
    """A change of one place in one function.

    Attributes:
        file: path below the source's folder.
        function: qualified name of the outermost function that it lies in.
        change: what stands there, and what is put in its place.
        start: where in the file's bytes that is.
        end: where it ends.
        text: what is put there.
        source: of the whole function, without the fault.
    """

    file: str
    function: str
    change: str
    start: int
    end: int
    text: str
    source: str

    @property
    def key(self) -> str:
        """Its name, the same wherever in the file the function lies."""
        return f"{self.file}:{self.function}: {self.change}"

    def put_into(self, source: str) -> str:
        """The source with the fault."""
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()


def functions_of(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Outermost functions and methods with something in them, by qualified name."""
    waiting: list[tuple[str, ast.stmt]] = [("", node) for node in tree.body]
    while waiting:
        prefix, node = waiting.pop(0)
        if isinstance(node, ast.ClassDef):
            waiting[:0] = [(f"{prefix}{node.name}.", inner) for inner in node.body]
        elif isinstance(node, Function) and not _without_behaviour(node):
            yield prefix + node.name, node


def faults_of(source: str, file: str) -> list[Fault]:
    """Every fault that can be put into a file's functions, in the order of the source."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found: list[Fault] = []
    for name, function in functions_of(ast.parse(source)):
        seen: Counter[str] = Counter()
        whole = ast.unparse(function)
        parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        first = next((p for p in parameters if p not in ("self", "cls")), None)
        for node, change, text in _changes(function.body, first):
            seen[change] += 1
            number = f" ({seen[change]})" if seen[change] > 1 else ""
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            found.append(Fault(file, name, change + number, start, end, text, whole))
    return found


def _without_behaviour(function: Function) -> bool:
    decorators = {ast.unparse(d).rpartition(".")[2] for d in function.decorator_list}
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and _is_constant(s.value))]
    return function.name in UNTOLD or bool(decorators & TYPES_ONLY) or not body


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


def _changes(body: list[ast.stmt], first: str | None) -> Iterator[tuple[Any, str, str]]:
    """Nodes of some statements, what changes, and the text that takes the node's place."""
    for node, around in _behaviour(body, None):
        for changed in _changed(node, first):
            text = ast.unparse(changed)
            told = f"{_told(node)} → {text}" if text != "pass" else f"no {_told(node)}"
            if _is_constant(node):  # which says little by itself
                told += f" in {_told(around)}"
            is_whole = isinstance(node, ast.stmt | ast.Slice)
            yield node, told, text if is_whole else f"({text})"


def _told(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def _behaviour(nodes: Sequence[Any], around: Any) -> Iterator[tuple[ast.AST, Any]]:
    """All nodes below these, in order, each with what it is part of.

    What only tells a person or a type checker something is left out.
    """
    for node in nodes:
        if not isinstance(node, ast.AST) or isinstance(node, SILENT) or _is_telling(node):
            continue
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("progress", "cast"):
            parts = node.args[:1] if ast.unparse(node.func) == "progress" else node.args[1:]
            yield from _behaviour(parts, node)
            continue
        yield node, around
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                yield from _behaviour(value if isinstance(value, list) else [value], node)


def _is_telling(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in TEXTS
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    call = node.value if isinstance(node, ast.Expr) else node
    if not isinstance(call, ast.Call):
        return isinstance(node, ast.Expr) and _is_constant(call)
    called = ast.unparse(call.func)
    return called.partition(".")[0] in TELLING or called.endswith(("Error", "stderr.write"))


def _changed(node: ast.AST, first: str | None) -> Iterator[ast.AST]:
    """The node with a fault in it, once for each."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            yield _with(node, ops=[COMPARISONS[type(operator)]()])
        case ast.BinOp(op=operator) if type(operator) in ARITHMETIC and not _is_text(node):
            yield _with(node, op=ARITHMETIC[type(operator)]())
        case ast.BoolOp(op=ast.And()):
            yield _with(node, op=ast.Or())
        case ast.BoolOp(op=ast.Or()):
            yield _with(node, op=ast.And())
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.IfExp():
            yield _with(node, body=node.orelse, orelse=node.body)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(value * 2 if value else 1.0)
        case ast.Call():
            yield from _changed_calls(node)
        case ast.Return(value=ast.expr() as value) if first and ast.unparse(value) != first:
            yield ast.Return(ast.Name(first))
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Subscript()]):
            yield ast.Pass()
        case ast.Slice(upper=(ast.Name() | ast.Attribute() | ast.Call()) as upper):
            yield _with(node, upper=ast.BinOp(deepcopy(upper), ast.Sub(), ast.Constant(1)))


def _changed_calls(node: ast.Call) -> Iterator[ast.Call]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    if name in OPPOSITES:
        other = OPPOSITES[name]
        if isinstance(node.func, ast.Attribute):
            yield _with(node, func=_with(node.func, attr=other))
        else:
            yield _with(node, func=ast.Name(other))
    elif len(node.args) == 2 and not any(isinstance(a, ast.Starred) for a in node.args):
        one, two = node.args
        alike = ast.dump(one) == ast.dump(two)
        if name not in UNSWAPPED and not alike:
            yield _with(node, args=[two, one])
    for at, keyword in enumerate(node.keywords):
        if keyword.arg is not None and keyword.arg not in TEXTS:
            yield _with(node, keywords=node.keywords[:at] + node.keywords[at + 1 :])


def _is_text(node: ast.BinOp) -> bool:
    """Whether it joins or repeats texts or sequences, where another operator only crashes."""
    kinds = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.DictComp, ast.ListComp)
    return any(
        isinstance(side, kinds) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _with(node: Any, **changes: Any) -> Any:
    changed = deepcopy(node)
    for name, value in changes.items():
        setattr(changed, name, value)
    return changed
