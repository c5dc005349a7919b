"""Damage to single nodes of a quantised ONNX file, done to its constants."""

from dataclasses import dataclass

import numpy as np
from onnx import numpy_helper

#: Operators whose second input is a weight.
WEIGHTED = ("Conv", "Gemm", "MatMul")
KINDS = {
    "weight": ("scale", "zero", "axis", "saturated"),
    "output": ("scale", "zero", "mismatch", "saturated"),
}


@dataclass(frozen=True)
class Site:
    """Constants of one node: of its weight, or of the quantiser of its output.

    ``node`` is the name in the original, and ``nodes`` those that hold a constant, by places.
    """

    node: str
    part: str
    values: str
    scale: str
    zero: str
    dequantise: str = ""


def sites(model):
    """All sites of a file that ONNX Runtime's quantiser wrote."""
    nodes = list(model.graph.node)
    makers = {name: node for node in nodes for name in node.output}
    constants = {tensor.name for tensor in model.graph.initializer}
    found, seen = [], set()

    def add(site):
        if site.scale in constants and site.scale not in seen:
            seen.add(site.scale)
            found.append(site)

    for node in nodes:
        given = list(node.input)
        name = node.name.removesuffix("_quant").removesuffix("_MatMul")
        if node.op_type in WEIGHTED and len(given) > 1:
            weight = makers.get(given[1])
            if weight is not None and weight.input[0] in constants and len(weight.input) > 2:
                add(Site(name, "weight", *weight.input[:3]))
        elif node.op_type in ("QLinearConv", "QLinearMatMul", "QGemm") and given[3] in constants:
            add(Site(name, "weight", *given[3:6]))
        elif node.op_type in ("MatMulInteger", "ConvInteger") and given[1] in constants:
            stem = given[1].removesuffix("_quantized")
            add(Site(name, "weight", given[1], f"{stem}_scale", given[3]))
        if node.op_type == "QuantizeLinear":
            maker = makers.get(given[0])
            takers = [n for n in nodes if n.op_type == "DequantizeLinear"]
            behind = next((n.name for n in takers if n.input[0] == node.output[0]), "")
            if maker is not None:
                maker_name = maker.name.removesuffix("_quant")
                add(Site(maker_name, "output", given[0], *given[1:3], behind))
        if node.op_type in ("QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearMul"):
            add(Site(name, "output", node.output[0], *given[6:8]))
    return found


def damaged(model, site, kind):
    """A copy of the file with this damage; None where the site cannot have it."""
    copy = type(model)()
    copy.CopyFrom(model)
    constants = {tensor.name: tensor for tensor in copy.graph.initializer}

    def get(name):
        return numpy_helper.to_array(constants[name])

    def put(name, values):
        constants[name].CopyFrom(numpy_helper.from_array(values, name))

    scale, zero = get(site.scale), get(site.zero)
    limits = np.iinfo(zero.dtype)
    shift = (int(limits.max) - int(limits.min)) // 4
    if kind == "scale":
        put(site.scale, scale * np.float32(3 if site.part == "weight" else 16))
    elif kind == "zero":
        moved = np.where(zero.astype(int) + shift > limits.max, -shift, shift)
        put(site.zero, (zero.astype(int) + moved).astype(zero.dtype))
    elif kind == "mismatch":
        if not site.dequantise:
            return None
        copy.graph.initializer.append(numpy_helper.from_array(scale * np.float32(2), "mismatch"))
        node = next(n for n in copy.graph.node if n.name == site.dequantise)
        node.input[1] = "mismatch"
    elif kind == "axis":
        values = get(site.values)
        swapped = values.T if values.ndim == 2 and len(set(values.shape)) == 1 else None
        axis = 0 if values.ndim == 4 else 1
        put(site.values, np.roll(values, 1, axis) if swapped is None else np.array(swapped))
    elif site.part == "output":
        put(site.scale, scale / np.float32(6))
    else:
        values = get(site.values).astype(int)
        shape = [1] * values.ndim
        if zero.size > 1:
            shape[values.shape.index(zero.size)] = zero.size
        middle = zero.astype(int).reshape(shape)
        stretched = np.clip((values - middle) * 6 + middle, limits.min, limits.max)
        put(site.values, stretched.astype(zero.dtype))
        put(site.scale, scale / np.float32(6))
    return copy


def cases(model):
    """All sites with the kinds of damage that they can have."""
    for site in sites(model):
        for kind in KINDS[site.part]:
            broken = damaged(model, site, kind)
            if broken is not None:
                yield site, kind, broken
