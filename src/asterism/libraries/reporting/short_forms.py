"""Short scripts of models that are not just run once as they are.

These are models that see other inputs first, whose inputs are written over, or whose inputs have a
free length, and layers that are split in two halves.
"""

from __future__ import annotations

from collections.abc import Sequence

from asterism.libraries.adapters.forms import LENGTHENED
from asterism.libraries.adapters.questions import OVERWRITTEN
from asterism.libraries.reporting.programs import FIRST_INPUTS, layer_source
from asterism.libraries.reporting.python_text import literal
from asterism.libraries.reporting.short_code import Code
from asterism.memo.graphs.graph import Graph
from asterism.memo.universe.spec import universe
from asterism.memo.universe.tensors import Config

#: The parameter that says how many outputs a layer has.
_SIZES = {"Dense": "units", "Conv1D": "filters", "Conv2D": "filters", "Conv3D": "filters"}
#: Functions that work on each output alone.
_ALONE = frozenset(
    [
        "elu",
        "gelu",
        "hard_sigmoid",
        "leaky_relu",
        "linear",
        "relu",
        "relu6",
        "selu",
        "sigmoid",
        "silu",
        "softplus",
        "tanh",
    ]
)


def running_lines(code: Code, distribution: str) -> list[str] | None:
    """Lines that compile a model and set ``outputs``; None where the code cannot be run so.

    Args:
        code: that compiles and calls it.
        distribution: kind of the inputs.
    """
    first = FIRST_INPUTS.get(distribution)
    if code.complete or (first is None and distribution != OVERWRITTEN):
        return [*code.made, *code.called]
    if code.fixed and first is not None:
        return None
    *before, last = code.called
    called = (*before, f"return {last.removeprefix('outputs = ')}")
    lines = [*code.made, "", "def run(inputs):", *(f"    {line}" for line in called), ""]
    if first is not None:
        return [*lines, f"run([{first} for i in inputs])", "outputs = run(inputs)"]
    over = "[array.fill(1) for array in inputs]  # the outputs must not change by it"
    return [*lines, "outputs = run(inputs)", over, "run(inputs)"]


def input_shape(shape: Sequence[int], distribution: str) -> str:
    """The shape of an input without the batch, in Python."""
    return literal((None, *shape[1:]) if distribution == LENGTHENED else tuple(shape))


def split_layer(
    graph: Graph, identity: int, told: Config, weights: Sequence[str]
) -> list[str] | None:
    """Lines that make a layer as two halves, and their concatenation; None where it stays whole.

    Args:
        graph: the model.
        identity: of the layer.
        told: what its constructor is told.
        weights: the sources of its arrays.
    """
    node = graph.nodes[identity]
    config = {**universe()[node.type].defaults(), **node.config}
    axis = 1 if config.get("data_format") == "channels_first" else -1
    shape = graph.tensors[identity].shape
    whole = shape[0] if axis == 1 else shape[-1]
    size, given = _SIZES.get(node.type), f"n{node.inputs[0]}"
    pools = node.type.startswith(("MaxPooling", "AveragePooling"))
    plain = config.get("groups", 1) == 1 and config.get("activation", "linear") in _ALONE
    if whole < 2 or not (pools or (size is not None and plain)):
        return None
    half, dtype = whole // 2, graph.tensors[identity].dtype
    join = f"keras.layers.Concatenate(axis={axis}, dtype={literal(dtype)})"
    if size is None:
        parts = ("[:, :{}]", "[:, {}:]") if axis == 1 else ("[..., :{}]", "[..., {}:]")
        made = layer_source(node.type, told)
        cut = ", ".join(f"{made}({given}{part.format(half)})" for part in parts)
        return [f"n{identity} = {join}([{cut}])"]
    counts = (half, whole - half)
    layers = [layer_source(node.type, {**told, size: count}) for count in counts]
    lines = [f"halves{identity} = [{', '.join(layers)}]"]
    lines.append(f"n{identity} = {join}([half({given}) for half in halves{identity}])")
    for number, part in enumerate((f"[..., :{half}]", f"[..., {half}:]")):
        arrays = ", ".join(f"{source}{part}" for source in weights)
        lines.append(f"halves{identity}[{number}].set_weights([{arrays}])")
    return lines
