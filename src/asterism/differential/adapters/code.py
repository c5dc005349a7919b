"""How a backend runs a model, as Python text: what a worker executes is what a script holds."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from textwrap import indent
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = list[NDArray[Any]]

#: Inputs that what is prepared serves: of any size; of these shapes; of any number of items above
#: one, where one and none are as good as shapes of their own.
ANY, SHAPES, BATCHES = "any", "shapes", "batches"

#: Imports and lines by the option that saves the model in a format of Keras and loads it again:
#: each format must give the same model.
RELOADED = {
    option: (
        ("import tempfile",),
        "folder = tempfile.TemporaryDirectory()\n"
        f'model.save(f"{{folder.name}}/model{suffix}")\n'
        f'model = keras.saving.load_model(f"{{folder.name}}/model{suffix}", compile=False)',
    )
    for option, suffix in {"keras_file": ".keras", "h5_file": ".h5"}.items()
}

#: The line that names the layers of a model that was loaded.
SAME_LAYERS = "layers = [model.get_layer(layer.name) for layer in layers]"


@dataclass(frozen=True)
class BackendCode:
    """The lines of Python by which a backend runs a model.

    They read ``inputs``, a list of arrays, and ``model``, a Keras model, or ``path``, that of a
    model's file. ``GIVEN`` stands for the inputs as the model takes them: one alone, or the list.

    Args:
        imports: lines that import what the others use, beside Keras and NumPy.
        prepare: lines for what is done once, such as to compile; they may read ``inputs`` unless
            they serve inputs of any size.
        call: lines that set ``outputs``, a list of arrays; they run once for each batch.
        serves: the inputs that what is prepared serves, see above.
    """

    imports: tuple[str, ...] = ()
    prepare: str = ""
    call: str = ""
    serves: str = ANY

    def given(self, inputs: int) -> BackendCode:
        """The code for a model of so many inputs."""
        prepare, call = (fill_given(text, inputs) for text in (self.prepare, self.call))
        return BackendCode(self.imports, prepare, call, self.serves)


def fill_given(text: str, inputs: int) -> str:
    """A text with the inputs in the place of ``GIVEN``."""
    return re.sub(r"\bGIVEN\b", "inputs" if inputs > 1 else "inputs[0]", text)


def fill_words(text: str, **words: str) -> str:
    """A text in which words are replaced by others."""
    for word, put in words.items():
        text = text.replace(word, put)
    return text


def as_function(call: str) -> str:
    """Lines that define ``run(inputs)``, which gives the outputs."""
    return f"def run(inputs):\n{indent(call, '    ')}\n    return outputs\n"


def overwritten(call: str) -> str:
    """Lines that set ``outputs``, and write over the inputs and run again before they are read."""
    return f"""{as_function(call)}
outputs = run(inputs)
for array in inputs:
    array[...] = 1
run(inputs)"""


class Prepared:
    """A model that is prepared in this process, once for each kind of inputs that it must be.

    Args:
        code: how it is run, see :meth:`BackendCode.given`.
        names: what the code reads: ``model``, ``layers``, ``path``.
        option: the backend's.
    """

    def __init__(self, code: BackendCode, names: Mapping[str, Any], option: str = "") -> None:
        self._code, self._names, self.option = code, names, option
        self._spaces: dict[Any, dict[str, Any]] = {}
        if code.serves == ANY:
            self.space([])

    def space(self, inputs: Sequence[NDArray[Any]]) -> dict[str, Any]:
        """The names after the preparation for such inputs; the inputs themselves are there too."""
        key = self._key(inputs)
        if key not in self._spaces:
            space = {"__name__": "__main__", "np": np, **self._names, "inputs": list(inputs)}
            execute("\n".join((*self._code.imports, self._code.prepare)), space)
            self._spaces[key] = space
        return self._spaces[key] | {"inputs": list(inputs)}

    def run(self, inputs: Sequence[NDArray[Any]], call: str = "") -> Arrays:
        """The outputs for a batch.

        Args:
            inputs: the batch.
            call: lines in place of the code's own.
        """
        space = self.space(inputs)
        execute(call or self._code.call, space)
        return [np.asarray(array) for array in space["outputs"]]

    def _key(self, inputs: Sequence[NDArray[Any]]) -> Any:
        if self._code.serves == ANY:
            return None
        free = self._code.serves == BATCHES
        return tuple(i.shape[1:] if free and len(i) > 1 else i.shape for i in inputs)


def execute(text: str, space: dict[str, Any]) -> None:
    """Run lines that a plug-in or a finding gives."""
    exec(_compiled(text), space)  # noqa: S102  (the project's own lines, or those of a plug-in)


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, "<backend>", "exec")


def source_of(*parts: Callable[..., Any]) -> str:
    """The source of functions without types, so that a script needs none."""
    trees = [_Untyped().visit(ast.parse(inspect.getsource(part))) for part in parts]
    return "\n\n".join(map(ast.unparse, trees))


class _Untyped(ast.NodeTransformer):
    """Takes annotations away."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        assert node.value is not None
        made = ast.Assign([node.target], self.visit(node.value))
        return ast.fix_missing_locations(ast.copy_location(made, node))
