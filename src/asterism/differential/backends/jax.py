"""JAX through Keras' backend: compiled or not, vectorised, exported; float64 as a reference."""

from __future__ import annotations

from asterism.differential.adapters import questions
from asterism.differential.adapters.code import SHAPES, BackendCode, fill_words
from asterism.differential.adapters.library import LIBRARIES, Library

_IMPORT = ("import jax",)
#: JAX may work on the memory of a NumPy array, as its alignment has it.
_COPIED = "inputs = [jax.numpy.array(x) for x in inputs]"
_CALL = f"{_COPIED}\noutputs = jax.tree.leaves({{}})"
_MODEL = "lambda x: model(x, training=False)"
_ITEM = """batch = lambda x: jax.tree.map(lambda a: a[None], x)
item = jax.jit(lambda x: jax.tree.map(lambda a: a[0], model(batch(x), training=False)))
function = jax.vmap(item)"""

_CODES = {
    "jit": BackendCode(_IMPORT, f"function = jax.jit({_MODEL})", _CALL.format("function(GIVEN)")),
    "eager": BackendCode(_IMPORT, "", _CALL.format("model(GIVEN, training=False)")),
    "vmap": BackendCode(_IMPORT, _ITEM, _CALL.format("function(GIVEN)")),
    "vmap_of_gradient": BackendCode(_IMPORT, _ITEM, _CALL.format("function(GIVEN)")),
    "export": BackendCode(
        (*_IMPORT, "import jax.export"),
        f"program = jax.export.export(jax.jit({_MODEL}))(GIVEN).serialize()\n"
        "function = jax.export.deserialize(program).call",
        _CALL.format("function(GIVEN)"),
        SHAPES,
    ),
    # A reference need not run fast: to optimise it takes longer than to run it.
    "float64": BackendCode(
        _IMPORT,
        'options = {"xla_backend_optimization_level": 0}\n'
        f"function = jax.jit({_MODEL}, compiler_options=options)",
        _CALL.format("function(GIVEN)"),
    ),
}

#: The model as a function of its trainable weights and of a batch or an item.
_FUNCTIONS = {
    "eager": "call",
    "vmap": "jax.vmap(jax.jit(single), (None, 0))",
    "vmap_of_gradient": "jax.jit(single)",
}

_BEGIN = f"""import jax
{questions.COSINES}
{_COPIED}
trainable = [v.value for v in model.trainable_variables]
fixed = [v.value for v in model.non_trainable_variables]
call = lambda w, x: model.stateless_call(w, fixed, x, training=False)[0]
"""

_DERIVATIVES = f"""{_BEGIN}single = lambda w, x: jax.tree.map(
    lambda a: a[0], call(w, jax.tree.map(lambda a: a[None], x)))
function = FUNCTION
factors = [cosines(y) for y in jax.tree.leaves(jax.eval_shape(call, trainable, GIVEN))]
floating = [x for x in inputs if x.dtype.kind == "f"]
along = [cosines(x).astype(x.dtype) for x in floating]

def total(weights, floating, inputs, factors):
    rest = iter(floating)
    inputs = [next(rest) if x.dtype.kind == "f" else x for x in inputs]
    outputs = jax.tree.leaves(function(weights, GIVEN))
    return sum((y.astype("float64") * c).sum() for y, c in zip(outputs, factors))

def derivative(weights, floating, inputs, factors, along):
    DERIVATIVE
"""

_DERIVATIVE = {
    questions.GRADIENT: "return jax.grad(total, 1)(weights, floating, inputs, factors)",
    questions.WEIGHT_GRADIENT: "return jax.grad(total)(weights, floating, inputs, factors)",
    questions.HESSIAN: """gradient = lambda f: jax.grad(total, 1)(weights, f, inputs, factors)
    return jax.jvp(gradient, (floating,), (along,))[1]""",
}

_STEP = f"""{_BEGIN}{questions.LOSS}

def step(weights, x):
    outputs, after, losses = model.stateless_call(
        weights, fixed, x, training=True, return_losses=True)
    return loss_of(outputs, losses), after

(loss, after), gradients = STEP(trainable, GIVEN)
if trainable:
    optimizer = OPTIMIZER
    optimizer.build(model.trainable_variables)
    states = [v.value for v in optimizer.variables]
    trainable, _ = optimizer.stateless_apply(states, gradients, trainable)
variables = [*model.trainable_variables, *model.non_trainable_variables]
for variable, value in zip(variables, [*trainable, *after]):
    variable.assign(value)
{questions.TRAINED}"""


@LIBRARIES.register("jax")
class Jax(Library):
    """Keras' JAX backend.

    ``vmap`` runs the compiled model of one item over the batch, and differentiates that;
    ``vmap_of_gradient`` runs the derivative of the compiled model over the batch.
    """

    name = "jax"
    packages = ("jax", "jaxlib", "keras")
    keras_backend = "jax"
    forks = True
    codes = _CODES
    zero_initializers = True
    differentiates = True

    def start(self) -> None:
        """Switch float64 on, which JAX otherwise replaces by float32."""
        import jax

        jax.config.update("jax_enable_x64", True)

    def question(self, option: str, question: str) -> str:
        """Derivatives in reverse mode, second ones in forward over reverse mode; or a step."""
        if option == "export":
            raise NotImplementedError(f"{question} is not supported of an exported model")
        if question in questions.TRAINING:
            if option.startswith("vmap"):
                raise NotImplementedError(f"{question} is not supported over single items")
            step = "jax.value_and_grad(step, has_aux=True)"
            step = step if option == "eager" else f"jax.jit({step})"
            return fill_words(_STEP, STEP=step, OPTIMIZER=questions.OPTIMIZERS[question])
        by_item = option == "vmap_of_gradient"
        derivative = "jax.vmap(derivative, (None, 0, 0, 0, 0))" if by_item else "derivative"
        function = _FUNCTIONS.get(option, "jax.jit(call)")
        text = fill_words(_DERIVATIVES, FUNCTION=function, DERIVATIVE=_DERIVATIVE[question])
        text += f"\noutputs = {derivative}(trainable, floating, inputs, factors, along)"
        if question != questions.WEIGHT_GRADIENT:
            return text
        summed = "[g.sum(0) for g in outputs]" if by_item else "outputs"
        return f"""{text}
of = dict(zip(map(id, model.trainable_variables), {summed}))
{questions.VARIABLES}
found = [of[id(v)] for v in variables]
{questions.BY_LAYERS}"""


@LIBRARIES.register("keras")
class KerasItself(Jax):
    """Keras in an environment of its own, ``keras@3.8``; the installed one is what all others use.

    It runs on JAX, whose kernels are those of the installed JAX: what differs is Keras' doing.
    """

    name = "keras"
    packages = ("keras", "jax", "jaxlib")
    options = ("jit", "eager")
    unsupported = (
        r"module 'keras[\w.]*' has no attribute",
        r"Unrecognized keyword arguments",
        r"got an unexpected keyword argument",
    )
