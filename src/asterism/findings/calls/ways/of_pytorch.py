"""PyTorch's compilers and exporters."""

from __future__ import annotations

from asterism.findings.calls.way import Way, openvino_way, way

_MODULE = """class Model(torch.nn.Module):
    def forward(self, *inputs):
        return f(*inputs)
"""
_GRADIENTS = """def gradients(f):
    leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
    total = sum(torch.cos(y).sum() for y in torch.utils._pytree.tree_leaves(f(*leaves)))
    return torch.autograd.grad(total, [x for x in leaves if x.requires_grad])
"""
#: What an exporter says where shapes or steps depend on values.
_OF_VALUES = (
    r"DynamicOutputShape",
    r"DataDependentOutput",
    r"UnbackedSymbol",
    r"data-dependent",
    r"GuardOnDataDependent",
)
way(
    "pytorch:aot",
    Way(
        "pytorch",
        "pytorch",
        'actual = torch.compile(f, backend="aot_eager_decomp_partition")(*inputs)',
        checks=True,
    ),
)
way("pytorch:inductor", Way("pytorch", "pytorch", "actual = torch.compile(f)(*inputs)", checks=True))
way(
    "pytorch:dynamic",
    Way(
        "pytorch",
        "pytorch",
        "actual = torch.compile(f, dynamic=True)(*inputs)",
    ),
)
way(
    "pytorch:scalars",
    Way(
        "pytorch",
        "pytorch",
        "with torch._dynamo.config.patch(capture_scalar_outputs=True):\n"
        "    actual = torch.compile(f, dynamic=True)(*inputs)",
        unsupported=_OF_VALUES,
    ),
)
way(
    "pytorch:gradient",
    Way(
        "pytorch",
        "pytorch",
        "actual = gradients(torch.compile(f))",
        expected=f"{_GRADIENTS}expected = gradients(f)",
    ),
)
way(
    "pytorch:export",
    Way(
        "pytorch",
        "pytorch",
        f"{_MODULE}program = torch.export.export(Model(), tuple(inputs)).run_decompositions()\n"
        "actual = program.module()(*inputs)",
        unsupported=_OF_VALUES,
    ),
)
way(
    "pytorch:vmap",
    Way(
        "pytorch",
        "pytorch",
        "actual = torch.vmap(f)(*[torch.stack([x, x]) for x in inputs])",
        expected="first = f(*inputs)\n"
        "expected = torch.utils._pytree.tree_map(lambda y: torch.stack([y, y]), first)",
        unsupported=(r"do not (yet )?support", r"cannot support", r"randomness", r"Dynamo"),
    ),
)
_NO_OPERATOR = (r"Couldn't get TorchScript", r"OpConversionFailure.*not support", *_OF_VALUES)
_CONVERTED = f"{_MODULE}model = ov.convert_model(Model(), example_input=tuple(inputs))"
_EXPORTED = (
    f"{_MODULE}program = torch.export.export(Model(), tuple(inputs))\n"
    "model = ov.convert_model(program)"
)
way("openvino:pytorch", openvino_way("pytorch", _CONVERTED, _NO_OPERATOR))
way("openvino:export", openvino_way("pytorch", _EXPORTED, _NO_OPERATOR))
