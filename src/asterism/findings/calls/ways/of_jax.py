"""JAX's compositions of transformations, and the frontend that reads its programs."""

from __future__ import annotations

from asterism.findings.calls.way import Way, way

_BATCH = "[jnp.stack([x, x]) for x in inputs]"
_TWICE = "expected = jax.tree.map(lambda y: jnp.stack([y, y]), f(*inputs))"
_SUM = """def total(*given):
    return sum(jnp.cos(y).sum() for y in jax.tree.leaves(f(*given)))
"""

way("jax:jit", Way("jax", "jax", "actual = jax.jit(f)(*inputs)"))
way("jax:vmap", Way("jax", "jax", f"actual = jax.vmap(f)(*{_BATCH})", expected=_TWICE))
way(
    "jax:jit_vmap",
    Way(
        "jax",
        "jax",
        f"actual = jax.jit(jax.vmap(f))(*{_BATCH})",
        expected=_TWICE,
    ),
)
way(
    "jax:jacobians",
    Way(
        "jax",
        "jax",
        "forward, reverse = jax.jit(jax.jacfwd(f))(*inputs), jax.jacrev(f)(*inputs)\n"
        "keep = lambda y, e: jnp.where(jnp.isfinite(y) & jnp.isfinite(e), y, e)\n"
        "actual = jax.tree.map(keep, forward, reverse)",
        expected="expected = jax.jacrev(f)(*inputs)",
    ),
)
way(
    "jax:vmap_grad",
    Way(
        "jax",
        "jax",
        f"actual = jax.jit(jax.vmap(jax.grad(total)))(*{_BATCH})",
        expected=f"{_SUM}first = jax.grad(total)(*inputs)\nexpected = jnp.stack([first, first])",
    ),
)
way(
    "openvino:jax",
    Way(
        "jax",
        "openvino",
        "model = ov.convert_model(jax.make_jaxpr(f)(*inputs))\n"
        'hints = {"INFERENCE_PRECISION_HINT": "f32"}\n'
        'compiled = ov.Core().compile_model(model, "CPU", hints)\n'
        "actual = list(compiled([np.array(x) for x in inputs]).values())",
        imports="import openvino as ov",
        packages=("openvino",),
        finest="float32",
        unsupported=(
            r"This is OpenVINO internal type",
            r"Incorrect input parameters",
            r"No conversion rule",
            r"No translator",
            r"[Uu]nsupported",
            r"not support",
        ),
    ),
)
