"""What reproducers of all Keras backends have in common that ask more than a model's outputs.

Each is a part of the body of ``run(model, inputs)``.
"""

from __future__ import annotations

from asterism.libraries.adapters.questions import OPTIMIZERS
from asterism.libraries.adapters.reloading import SUFFIXES

#: Weights of the elements of arrays, from their shapes.
COSINES = """
    def cosines_of(arrays):
        return [np.cos(np.arange(int(np.prod(a.shape)))).reshape(a.shape) for a in arrays]
"""

#: Arrays of all variables as a flat one for each layer; ``LAYERS`` are the model's, in order.
FLAT = """
    def by_layer(values, variables_of):
        of = {id(v): np.asarray(a).ravel() for v, a in values}
        return [
            np.concatenate(
                [np.empty(0, layer.variable_dtype), *(of[id(v)] for v in variables_of(layer))]
            ).astype(layer.variable_dtype)
            for layer in LAYERS
        ]
"""

#: The loss of a training step.
LOSS = """
    def loss_of(outputs, losses):
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        dtype = "float64" if model.outputs[0].dtype == "float64" else "float32"
        loss = keras.losses.MeanSquaredError(dtype=dtype)
        parts = [loss(c, o) for c, o in zip(cosines_of(outputs), outputs)]
        return sum([*parts, *(keras.ops.cast(part, dtype) for part in losses)])
"""

#: The weights of each layer that are numbers with a fraction.
WEIGHTS = """
    def floating_weights(layer):
        return [w for w in layer.weights if "float" in str(w.dtype)]
"""


def flat_source(option: str) -> str:
    """:data:`FLAT`, of the model that was loaded where the option saves one and loads it."""
    if option not in SUFFIXES:
        return FLAT
    return f"""
    model = function
    LAYERS[:] = [model.get_layer(layer.name) for layer in LAYERS]
{FLAT}"""


def optimizer_source(question: str) -> str:
    """The expression that makes the optimizer of a training step."""
    kind, options = OPTIMIZERS[question]
    return f"keras.optimizers.{kind}({', '.join(f'{k}={v!r}' for k, v in options.items())})"
