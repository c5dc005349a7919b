"""What a model is asked beside plain outputs: derivatives, training steps, and other forms of it.

The lines of Python that answer a question are the libraries' own; what they share stands here. An
other form computes the same, as layers in two halves and inputs of free length do. A backend runs
the changed model, and the references the plain one. A reproducer holds the source of the functions
that change it, which therefore import what they need themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from asterism.memo.graphs.graph import Graph

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

#: Kinds of inputs with which the model is changed.
SPLIT, LENGTHENED = "split", "lengthened"
#: How much longer the inputs are that a model of free length sees first.
LONGER = 3

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
def restoring_weights(model: Any) -> Iterator[None]:
    """The Keras model, which other backends share, has its weights back after the block."""
    weights = model.get_weights()
    try:
        yield
    finally:
        model.set_weights(weights)


#: Layers that can be split.
_KINDS = ("Conv", "MaxPooling", "AveragePooling")
_SPLIT = ("Dense", *(f"{kind}{n}D" for kind in _KINDS for n in (1, 2, 3)))


def split(model: Any) -> Any:
    """The model with every dense, convolution and pooling layer as two, one for each half.

    The outputs of the halves are concatenated. Layers whose activation mixes outputs stay whole.
    """
    import keras

    alone = "elu gelu hard_sigmoid leaky_relu linear relu relu6 selu sigmoid silu softplus tanh"
    sizes = {"Dense": "units", "Conv1D": "filters", "Conv2D": "filters", "Conv3D": "filters"}

    def axis_of(layer: Any) -> int:
        return 1 if getattr(layer, "data_format", "") == "channels_first" else -1

    def halves(layer: Any) -> Any:
        kind, config = type(layer).__name__, layer.get_config()
        given = keras.Input(batch_shape=layer.input.shape, dtype=layer.input.dtype)
        whole = layer.output.shape[axis_of(layer)]
        if whole is None or whole < 2:
            return type(layer).from_config(config)
        parts = []
        for number, count in enumerate((whole // 2, whole - whole // 2)):
            changed = {**config, "name": f"{layer.name}_{number}"}
            first, last = number * (whole // 2), number * (whole // 2) + count
            if kind in sizes:
                same = type(layer).from_config({**changed, sizes[kind]: count})(given)
            else:
                cut = given[:, first:last] if axis_of(layer) == 1 else given[..., first:last]
                same = type(layer).from_config(changed)(cut)
            parts.append(same)
        joined = keras.layers.Concatenate(axis=axis_of(layer), dtype=layer.dtype_policy)(parts)
        return keras.Model(given, joined, name=layer.name)

    def changed(layer: Any) -> Any:
        config, kind = layer.get_config(), type(layer).__name__
        if kind in sizes and config.get("groups", 1) == 1:
            simple = config["activation"] in alone.split() and config.get("lora_rank") is None
            return halves(layer) if simple else type(layer).from_config(config)
        pools = kind.startswith(("MaxPooling", "AveragePooling"))
        return halves(layer) if pools else type(layer).from_config(config)

    other = keras.models.clone_model(model, clone_function=changed)
    for layer in model.layers:
        twin, weights = other.get_layer(layer.name), layer.get_weights()
        if isinstance(twin, keras.Model) and weights:
            first, second = (twin.get_layer(f"{layer.name}_{number}") for number in (0, 1))
            count = first.get_weights()[0].shape[-1]
            first.set_weights([w[..., :count] for w in weights])
            second.set_weights([w[..., count:] for w in weights])
        elif weights:
            twin.set_weights(weights)
    return other


def lengthened(model: Any) -> Any:
    """The model with inputs whose first axis after the batch has no fixed size."""
    import keras

    given = [
        keras.Input(batch_shape=(None, None, *i.shape[2:]), dtype=i.dtype, name=i.name)
        for i in model.inputs
    ]
    other = keras.models.clone_model(model, given if len(given) > 1 else given[0])
    for layer in model.layers:
        if layer.weights:
            other.get_layer(layer.name).set_weights(layer.get_weights())
    return other


#: The functions by the kind of inputs that they are for.
FORMS: dict[str, Callable[[Any], Any]] = {SPLIT: split, LENGTHENED: lengthened}


def has_form(graph: Graph, form: str) -> bool:
    """Whether a model has something to split, or inputs that may have a length of their own."""
    if form == LENGTHENED:
        return all(len(graph.tensors[i].shape) > 1 for i in graph.inputs)
    return any(graph.nodes[i].type in _SPLIT for i in graph.layers)
