"""JAX's compositions of transformations, and the frontend that reads its programs."""

from __future__ import annotations

from asterism.findings.calls.way import Way, openvino_way, way

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
_OPENVINO = "model = ov.convert_model(jax.make_jaxpr(f)(*inputs))"
way("openvino:jax", openvino_way("jax", _OPENVINO, (r"No translator", r"not support")))
