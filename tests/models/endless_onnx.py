"""ONNX files that compute for years: a Loop with a huge number of turns."""

import numpy as np

from onnx_texts import write_onnx

TURNS = 2**62

#: No image that a model is tried on at opening lies between these.
LIMITS = (0.5, 0.99)

#: A Loop that adds zero again and again: endless where all of a batch lies between the limits.
_ENDLESS = """
    darkest = ReduceMin <keepdims = 0> (given)
    brightest = ReduceMax <keepdims = 0> (given)
    is_bright = Greater (darkest, least)
    is_not_white = Less (brightest, most)
    hangs = And (is_bright, is_not_white)
    turns = Where (hangs, many, once)
    looped = Loop (turns, , given) <body = body (int64 turn, bool go, value) => (bool goes, next) {
        goes = Identity (go)
        next = Add (value, zero)
    }>
"""


def _write(path, inputs, outputs, nodes, limits, **weights):
    constants = {"many": np.int64(TURNS), "once": np.int64(1), "zero": np.float32(0)}
    constants |= dict(zip(("least", "most"), map(np.float32, limits), strict=True))
    text = f"({inputs}) => ({outputs}) {{ {_ENDLESS} {nodes} }}"
    return write_onnx(path, text, opset=13, **constants, **weights)


def endless_classifier(path, limits=LIMITS):
    """Takes images (N, 8, 8, 1) and gives 4 probabilities.

    It never ends on a batch whose values all lie between the limits.
    """
    nodes = """
        flat = Flatten (looped)
        scores = MatMul (flat, kernel)
        probabilities = Softmax <axis = 1> (scores)
    """
    kernel = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    ends = "float[n,8,8,1] given", "float[n,4] probabilities"
    return _write(path, *ends, nodes, limits, kernel=kernel)


def endless_rnn(path, limits=LIMITS, features=8, classes=10):
    """A network over sequences (N, T, F); endless on values between the limits.

    The name of its states is ``states``.
    """
    rng = np.random.default_rng(0)
    nodes = """
        states = MatMul (looped, kernel)
        pooled = ReduceMean <axes = [1], keepdims = 0> (states)
        scores = MatMul (pooled, read_out)
        probabilities = Softmax <axis = 1> (scores)
    """
    kernel = rng.normal(size=(features, 5)).astype(np.float32)
    read_out = rng.normal(size=(5, classes)).astype(np.float32)
    ends = f"float[n,t,{features}] given", f"float[n,{classes}] probabilities"
    return _write(path, *ends, nodes, limits, kernel=kernel, read_out=read_out)
