"""What a model is asked beside its outputs: derivatives, and its weights after a training step.

The lines of Python that answer are the libraries' own; what they share stands here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from asterism.differential.adapters.forms import LENGTHENED, LONGER

#: Derivatives of the weighted sum of the outputs by the inputs and by the weights, and the second
#: derivatives by the inputs: the Hessian's product with a vector of cosines.
GRADIENT, WEIGHT_GRADIENT, HESSIAN = "gradient", "weight_gradient", "hessian"
#: The loss, and the weights after one step of training, by the optimizer that makes it.
OPTIMIZERS = {
    "training": "keras.optimizers.SGD(learning_rate=0.125, momentum=0.5, nesterov=True)",
    # A large epsilon: else the first step is the gradient's sign, which rounding decides at 0.
    "training_adam": "keras.optimizers.Adam(learning_rate=0.125, epsilon=0.25)",
}
TRAINING = tuple(OPTIMIZERS)
#: All of them; each is asked with inputs of its own.
QUESTIONS = (GRADIENT, WEIGHT_GRADIENT, HESSIAN, *TRAINING)
#: Those that need no weights: they are asked of an exported model too.
BY_INPUTS = (GRADIENT, HESSIAN)

#: Inputs of a batch of another size than the first one that the same compiled model has seen.
RESIZED = "resized"
#: Inputs whose memory is written over after the run, before the outputs are read.
OVERWRITTEN = "overwritten"
#: Items in that first batch.
FIRST = 2
#: By kind of inputs, what the compiled model sees first in place of an input ``x``.
FIRST_INPUTS = {
    RESIZED: f"x[:{FIRST}]",
    LENGTHENED: f"np.concatenate([x, x.take(np.arange({LONGER}) % x.shape[1], 1)], 1)",
}

#: Weights of an array's elements in the sum that is differentiated. They all differ: of what adds
#: up to a constant, as a softmax does, a plain sum has no derivative.
COSINES = "cosines = lambda y: np.cos(np.arange(np.prod(y.shape, dtype=int))).reshape(y.shape)"

#: All trainable variables, layer by layer.
VARIABLES = "variables = [v for layer in layers for v in layer.trainable_variables]"

_FLAT = """flat = lambda layer, arrays: np.concatenate(
    [np.ravel(a) for a in arrays]) if arrays else np.empty(0, layer.variable_dtype)"""

#: The arrays ``found`` of the variables, as a flat one for each layer.
BY_LAYERS = f"""{_FLAT}
rest = iter(found)
outputs = [flat(layer, [next(rest) for _ in layer.trainable_variables]) for layer in layers]"""

#: The loss, and the floating weights of each layer as a flat array.
TRAINED = f"""{_FLAT}
floating = lambda layer: [w for w in layer.get_weights() if w.dtype.kind == "f"]
loss = keras.ops.convert_to_numpy(loss).astype(model.outputs[0].dtype)
outputs = [loss, *(flat(layer, floating(layer)) for layer in layers)]"""

#: Squared errors of ``outputs`` from cosines, and what regularizers add, as a function. Keras
#: computes it in float64 for a model of float64, and in float32 for all others.
LOSS = """dtype = "float64" if model.outputs[0].dtype == "float64" else "float32"
error = keras.losses.MeanSquaredError(dtype=dtype)
loss_of = lambda outputs, losses: sum(
    [error(cosines(y), y) for y in keras.tree.flatten(outputs)]
    + [keras.ops.cast(x, dtype) for x in losses])"""


@contextmanager
def kept(model: Any) -> Iterator[None]:
    """The Keras model, which other backends share, has its weights back after the block."""
    weights = model.get_weights()
    try:
        yield
    finally:
        model.set_weights(weights)
