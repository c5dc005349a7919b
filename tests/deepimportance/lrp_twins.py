"""The rules of LRP again, slowly and in float64: dense layers as matrices, one term at a time.

A Keras layer is turned into the matrix that it is, column by column, so nothing is shared with
the code under test.
"""

import keras
import numpy as np


def in_float64(model):
    """A sequential Keras model again, with its weights, computing in float64."""
    layers = [layer.__class__.from_config({**layer.get_config(), "dtype": "float64"})
              for layer in model.layers]  # fmt: skip
    double = keras.Sequential([keras.Input(model.input_shape[1:], dtype="float64"), *layers])
    double.set_weights(model.get_weights())
    return double


def matrix_of(layer, shape):
    """The matrix ``(outputs, inputs)`` of a linear Keras layer, and its bias ``(outputs,)``."""
    size = int(np.prod(shape))
    bias = np.asarray(layer(np.zeros((1, *shape)))).ravel()
    outputs = np.asarray(layer(np.eye(size).reshape(size, *shape)))
    return outputs.reshape(size, -1).T - bias[:, np.newaxis], bias


def _shared(numerators, extra, relevance, epsilon):
    """``R_j = Σ_k n_kj / (Σ_j n_kj + extra_k ± ε) R_k`` with loops."""
    outputs, inputs = numerators.shape
    result = np.zeros(inputs)
    for k in range(outputs):
        z = numerators[k].sum() + extra[k]
        z += epsilon if z >= 0 else -epsilon
        if z == 0:
            continue
        for j in range(inputs):
            result[j] += numerators[k, j] / z * relevance[k]
    return result


def epsilon_rule(w, b, x, r, epsilon):
    return _shared(w * x, b, r, epsilon)


def alpha_beta_rule(w, b, x, r, alpha, beta, stabiliser=1e-6):
    products = w * x
    positive = _shared(np.where(products > 0, products, 0), np.maximum(b, 0), r, stabiliser)
    # A sum of nothing counts as +0, so the stabiliser's sign follows the sum as it does there.
    negative = _shared(np.where(products < 0, products, 0), np.minimum(b, 0), r, stabiliser)
    return alpha * positive - beta * negative


def gamma_rule(w, b, x, r, gamma, stabiliser=1e-6):
    products = w * x
    z = products.sum(axis=1) + b
    up = products + gamma * np.where(products > 0, products, 0)
    down = products + gamma * np.where(products < 0, products, 0)
    b_up, b_down = b + gamma * np.maximum(b, 0), b + gamma * np.minimum(b, 0)
    return _shared(up, b_up, np.where(z > 0, r, 0), stabiliser) + _shared(
        down, b_down, np.where(z < 0, r, 0), stabiliser
    )


def z_box_rule(w, b, x, r, low, high, stabiliser=1e-6):
    terms = w * x - np.maximum(w, 0) * low - np.minimum(w, 0) * high
    return _shared(terms, np.zeros(len(b)), r, stabiliser)


def w_square_rule(w, b, x, r, stabiliser=1e-6):
    return _shared(w**2, np.zeros(len(b)), r, stabiliser)


def flat_rule(seen, b, x, r, stabiliser=1e-6):
    return _shared(seen.astype(float), np.zeros(len(b)), r, stabiliser)
