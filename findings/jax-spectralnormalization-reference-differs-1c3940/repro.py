"""reference differs | jax | training of SpectralNormalization()

Seen with jax 0.10.2, jaxlib 0.10.2, keras 3.15.1.
Exits 1 while the bug lives, 0 when it is gone, 2 when something else fails.
"""

import os
import sys


def otherwise(kind, error, trace):
    """Say that something else failed, and end with 2."""
    sys.__excepthook__(kind, error, trace)
    print("another failure than the recorded one: it says nothing about the bug")
    sys.exit(2)


sys.excepthook = otherwise


os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_ENABLE_X64"] = "1"

import keras
import numpy as np


LAYERS = []


def build():
    n0 = keras.Input((1, 1, 1), dtype='float64', name='n0_input')
    layer1 = keras.layers.SpectralNormalization.from_config({'layer': {'module': 'keras.layers', 'class_name': 'Dense', 'config': {'units': 4, 'activation': 'linear', 'dtype': 'float64', 'use_bias': True}, 'registered_name': None}, 'dtype': 'float64'})
    n1 = layer1(n0)
    layer1.set_weights([np.array([-1.0778005123138428, 0.4533615708351135, 0.8790456652641296, -0.9529288411140442], 'float32').reshape((1, 4)), np.array([0.9863470196723938, -0.36492618918418884, -0.04516390711069107, 0.9556379318237305], 'float32').reshape((1, 4)), np.array([0.19525198638439178, 0.28243234753608704, 0.4065023362636566, -0.3897571861743927], 'float32').reshape((4,))])
    LAYERS[:] = [layer1]
    return keras.Model(n0, n1)


def run(model, inputs):
    import jax
    import jax.export

    jax.config.update("jax_enable_x64", True)
    trainable = [v.value for v in model.trainable_variables]
    fixed = [v.value for v in model.non_trainable_variables]
    given = inputs if len(inputs) > 1 else inputs[0]

    def call(weights, inputs):
        return model.stateless_call(weights, fixed, inputs, training=False)[0]

    def single(weights, item):
        outputs = call(weights, jax.tree.map(lambda a: a[None], item))
        return jax.tree.map(lambda a: a[0], outputs)

    def cosines_of(arrays):
        return [np.cos(np.arange(int(np.prod(a.shape)))).reshape(a.shape) for a in arrays]

    def by_layer(values, variables_of):
        of = {id(v): np.asarray(a).ravel() for v, a in values}
        return [
            np.concatenate(
                [np.empty(0, layer.variable_dtype), *(of[id(v)] for v in variables_of(layer))]
            ).astype(layer.variable_dtype)
            for layer in LAYERS
        ]

    def loss_of(outputs, losses):
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        dtype = "float64" if model.outputs[0].dtype == "float64" else "float32"
        loss = keras.losses.MeanSquaredError(dtype=dtype)
        parts = [loss(c, o) for c, o in zip(cosines_of(outputs), outputs)]
        return sum([*parts, *(keras.ops.cast(part, dtype) for part in losses)])

    def floating_weights(layer):
        return [w for w in layer.weights if "float" in str(w.dtype)]

    def loss(weights, inputs):
        outputs, after, losses = model.stateless_call(
            weights, fixed, inputs, training=True, return_losses=True
        )
        return loss_of(outputs, losses), after

    step = jax.value_and_grad(loss, has_aux=True)
    (value, after), gradients = jax.jit(step)(trainable, given)
    optimizer = keras.optimizers.SGD(learning_rate=0.125, momentum=0.5, nesterov=True)
    optimizer.build(model.trainable_variables)
    states = [v.value for v in optimizer.variables]
    trained, _ = optimizer.stateless_apply(states, gradients, trainable)
    variables = [*model.trainable_variables, *model.non_trainable_variables]
    values = list(zip(variables, [*trained, *after]))
    return [np.asarray(value, model.outputs[0].dtype), *by_layer(values, floating_weights)]

INPUTS = [np.array([-0.21515671908855438, 1.3492169380187988], 'float64').reshape((2, 1, 1, 1))]

EXPECTED = [np.array([0.6559901833534241], 'float64').reshape(()), np.array([-0.6251364356185476, 0.23443476396871255, 0.5027625793767222, -0.41968181482552536, 0.617350697517395, -0.2596798539161682, -0.5035063624382019, 0.5458257794380188, 0.2260003598474406, 0.28077331079839674, 0.36712790622314534, -0.3352685881261911], 'float64').reshape((12,))]  # a float64 run
TOLERANCES = [np.array([1.0486452993063722e-05], 'float64').reshape(()), np.array([8.69596960658454e-06, 5.715152409549056e-06, 7.762331177005183e-06, 7.128475246286213e-06, 8.636569138893862e-06, 5.907757160735088e-06, 7.768005791426874e-06, 8.090877320050965e-06, 5.65080301287187e-06, 6.06868746531752e-06, 6.727520743399403e-06, 6.484453436141146e-06], 'float64').reshape((12,))]
DTYPES = ['float64', 'float64']


def difference(
    actual: np.ndarray, expected: np.ndarray, tolerance: np.ndarray, dtype: str
) -> tuple[str, float] | None:
    """The worst kind of difference of an output from a float64 reference; None where they agree.

    With it comes how far off the output is: of values the largest deviation as a multiple of its
    tolerance, of a NaN/Inf mask the number of its elements that differ, else 0.
    """
    if actual.shape != expected.shape:
        return "wrong shape", 0.0
    if str(actual.dtype) != dtype:
        return "wrong dtype", 0.0
    with np.errstate(all="ignore"):
        # What is finite in float64 may be too large for the dtype: no library is to blame.
        # Nor is one where nothing decides what is right, so that any deviation is tolerated.
        largest = np.finfo(actual.dtype).max if actual.dtype.kind == "f" else np.inf
        judged = ~(np.isfinite(expected) & (np.abs(expected) > largest / 4)) & (tolerance < np.inf)
        wrong = np.isnan(actual) != np.isnan(expected)
        wrong |= np.isinf(actual) != np.isinf(expected)
        wrong |= np.isinf(expected) & ((actual > 0) != (expected > 0))
        compared = judged & np.isfinite(actual) & np.isfinite(expected)
        deviation = np.where(compared, np.abs(actual.astype("float64") - expected), 0.0)
        excess = float(np.max(deviation / tolerance, initial=0.0))
    if (wrong & judged).any():
        return "NaN/Inf mask differs", float((wrong & judged).sum())
    return ("values differ", excess) if excess > 1 else None


def main():
    model = build()
    outputs = run(model, INPUTS)
    outputs = [np.asarray(o) for o in outputs]
    wrong = len(outputs) != len(EXPECTED)
    for actual, expected, tolerance, dtype in zip(outputs, EXPECTED, TOLERANCES, DTYPES):
        print("expected", expected.shape, expected.reshape(-1)[:8])
        print("actual  ", actual.shape, actual.reshape(-1)[:8], actual.dtype, "must be", dtype)
        found = difference(actual, expected, tolerance, dtype)
        print("differs ", *(found or ["no"]))
        wrong |= found is not None
    print("the bug lives" if wrong else "the bug is gone")
    return 1 if wrong else 0


sys.exit(main())
