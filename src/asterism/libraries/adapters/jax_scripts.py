"""Reproducers on JAX."""

from __future__ import annotations

from asterism.libraries.adapters.question_scripts import (
    COSINES,
    FLAT,
    LOSS,
    WEIGHTS,
    optimizer_source,
)
from asterism.libraries.adapters.questions import HESSIAN, TRAINING, WEIGHT_GRADIENT

#: How every script begins: the model as a function of its weights and its inputs.
_BEGIN = """
def run(model, inputs):
    import jax
    import jax.export

    jax.config.update("jax_enable_x64", True)
    trainable = [v.value for v in model.trainable_variables]
    fixed = [v.value for v in model.non_trainable_variables]
    inputs = [jax.numpy.array(i) for i in inputs]
    given = inputs if len(inputs) > 1 else inputs[0]

    def call(weights, inputs):
        return model.stateless_call(weights, fixed, inputs, training=False)[0]

    def single(weights, item):
        outputs = call(weights, jax.tree.map(lambda a: a[None], item))
        return jax.tree.map(lambda a: a[0], outputs)
"""

#: Functions of weights and inputs: ``call`` takes a batch, ``single`` an item.
_FUNCTIONS = {
    "eager": "call",
    "jit": "jax.jit(call)",
    "float64": "jax.jit(call)",
    "vmap": "jax.vmap(jax.jit(single), (None, 0))",
    "vmap_of_gradient": "jax.vmap(jax.jit(single), (None, 0))",
}

#: Functions of the inputs alone, with the weights as constants where the library has them so.
_FIXED = {
    "eager": "call(trainable, given)",
    "jit": "jax.jit(lambda i: call(trainable, i))(given)",
    "float64": "jax.jit(lambda i: call(trainable, i))(given)",
    "vmap": f"{_FUNCTIONS['vmap']}(trainable, given)",
    "vmap_of_gradient": f"{_FUNCTIONS['vmap']}(trainable, given)",
    "export": "jax.export.deserialize(\n"
    "        jax.export.export(jax.jit(lambda i: call(trainable, i)))(given).serialize()\n"
    "    ).call(given)",
}

_DERIVATIVES = """
    cosines = cosines_of(jax.tree.leaves(jax.eval_shape(call, trainable, given)))
    floating = [i for i in inputs if i.dtype.kind == "f"]
    along = [c.astype(i.dtype) for c, i in zip(cosines_of(floating), floating)]

    def total(weights, floating, inputs, cosines):
        rest = iter(floating)
        given = [next(rest) if i.dtype.kind == "f" else i for i in inputs]
        outputs = jax.tree.leaves(function(weights, given if len(given) > 1 else given[0]))
        return sum((o.astype("float64") * c).sum() for o, c in zip(outputs, cosines))
"""

_BY_WEIGHTS = """
    def derivative(weights, floating, inputs, cosines, along):
        return jax.grad(total)(weights, floating, inputs, cosines)
"""

_BY_INPUTS = """
    def derivative(weights, floating, inputs, cosines, along):
        return jax.grad(total, 1)(weights, floating, inputs, cosines)
"""

_SECOND = """
    def derivative(weights, floating, inputs, cosines, along):
        gradient = jax.grad(total, 1)
        return jax.jvp(lambda f: gradient(weights, f, inputs, cosines), (floating,), (along,))[1]
"""

_STEP = """
    def loss(weights, inputs):
        outputs, after, losses = model.stateless_call(
            weights, fixed, inputs, training=True, return_losses=True
        )
        return loss_of(outputs, losses), after

    step = jax.value_and_grad(loss, has_aux=True)
    (value, after), gradients = {step}(trainable, given)
    optimizer = {optimizer}
    optimizer.build(model.trainable_variables)
    states = [v.value for v in optimizer.variables]
    trained, _ = optimizer.stateless_apply(states, gradients, trainable)
    variables = [*model.trainable_variables, *model.non_trainable_variables]
    values = list(zip(variables, [*trained, *after]))
    return [np.asarray(value, model.outputs[0].dtype), *by_layer(values, floating_weights)]
"""


def plain_script(option: str) -> str:
    """Source of ``run(model, inputs)`` that gives the outputs."""
    return f"""{_BEGIN}
    outputs = {_FIXED[option]}
    return outputs if isinstance(outputs, list) else [outputs]
"""


def question_script(option: str, question: str) -> str:
    """Source of ``run(model, inputs)`` that answers a question."""
    if question in TRAINING:
        step = "step" if option == "eager" else "jax.jit(step)"
        made = _STEP.format(step=step, optimizer=optimizer_source(question))
        return f"{_BEGIN}{COSINES}{FLAT}{LOSS}{WEIGHTS}{made}"
    by_item = option == "vmap_of_gradient"
    function = "jax.jit(single)" if by_item else _FUNCTIONS.get(option, "call")
    begin = f"{_BEGIN}\n    function = {function}\n{COSINES}{_DERIVATIVES}"
    applied = "jax.vmap(derivative, (None, 0, 0, 0, 0))" if by_item else "derivative"
    found = f"{applied}(trainable, floating, inputs, cosines, along)"
    if question == WEIGHT_GRADIENT:
        summed = f"[g.sum(0) for g in {found}]" if by_item else found
        return f"""{begin}{FLAT}{_BY_WEIGHTS}
    values = list(zip(model.trainable_variables, {summed}))
    return by_layer(values, lambda layer: layer.trainable_variables)
"""
    return f"""{begin}{_SECOND if question == HESSIAN else _BY_INPUTS}
    return {found}
"""
