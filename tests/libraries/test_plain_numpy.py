"""Convolution and pooling in plain NumPy against their definitions, number by number."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asterism.differential.reference.numpy_kernels import (
    LayoutAxes,
    compute_padding,
    convolved,
    pooled,
    transposed,
)
from libraries.small_results import chained
from libraries.small_runs import task_of, working
from memo.small_graphs import layer


def axes(dims):
    """Channels last, and kernels as Keras has them."""
    last = (0, dims + 1, *range(1, dims + 1))
    return LayoutAxes(last, (dims + 1, dims, *range(dims)), last)


def slow(x, kernel, strides, pads, dilation, groups):
    """The sum over the window and the input channels of one group, for each output."""
    dims = x.ndim - 2
    x = np.pad(x, [(0, 0), *pads, (0, 0)])
    size, fan, filters = kernel.shape[:dims], kernel.shape[-2], kernel.shape[-1]
    counts = [
        (x.shape[1 + a] - (size[a] - 1) * dilation[a] - 1) // strides[a] + 1 for a in range(dims)
    ]
    out = np.zeros((x.shape[0], *counts, filters))
    for n, *place, f in product(*map(range, out.shape)):
        group = f // (filters // groups)
        for *offset, c in product(*map(range, (*size, fan))):
            at = [
                p * s + o * d for p, s, o, d in zip(place, strides, offset, dilation, strict=True)
            ]
            out[(n, *place, f)] += x[(n, *at, group * fan + c)] * kernel[(*offset, c, f)]
    return out


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_convolution_is_the_sum_over_its_window(data):
    dims, groups = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2))
    many = st.lists(st.integers(1, 3), min_size=dims, max_size=dims)
    strides, dilation, size = data.draw(many), data.draw(many), data.draw(many)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, *(7, 8)[:dims], 2 * groups))
    kernel = rng.normal(size=(*size, 2, 2 * groups))
    kind = data.draw(st.sampled_from(["VALID", "same"]))
    reach = [(n - 1) * d + 1 for n, d in zip(size, dilation, strict=True)]
    pads = compute_padding(kind.upper(), x.shape[1:-1], reach, strides)
    found = convolved(x, kernel, strides, kind, dilation, axes(dims), groups)
    np.testing.assert_allclose(found, slow(x, kernel, strides, pads, dilation, groups), atol=1e-12)
    found = convolved(x, kernel, strides, pads, dilation, axes(dims), groups)
    np.testing.assert_allclose(found, slow(x, kernel, strides, pads, dilation, groups), atol=1e-12)


@pytest.mark.parametrize(("stride", "size"), [(1, 3), (2, 3), (3, 2)])
def test_a_transposed_convolution_is_the_transpose_of_the_convolution(stride, size):
    """As matrices: the inner product of A x and y is that of x and Aᵀ y."""
    rng = np.random.default_rng(0)
    x, kernel = rng.normal(size=(1, 3 * stride + size, 2)), rng.normal(size=(size, 2, 4))
    down = convolved(x, kernel, [stride], "VALID", [1], axes(1))
    y = rng.normal(size=down.shape)
    rest = x.shape[1] - ((down.shape[1] - 1) * stride + size)
    pads = [(size - 1, size - 1 + rest)]
    up = transposed(y, kernel, [stride], pads, [1], axes(1), True)
    assert up.shape == x.shape
    assert np.sum(down * y) == pytest.approx(np.sum(x * up))


def test_negative_padding_takes_away():
    rng = np.random.default_rng(0)
    y, kernel = rng.normal(size=(1, 4, 2)), rng.normal(size=(3, 3, 2))
    whole = transposed(y, kernel, [2], [(2, 2)], [1], axes(1), True)
    less = transposed(y, kernel, [2], [(-1, 2)], [1], axes(1), True)
    np.testing.assert_allclose(less, whole[:, 3:], atol=1e-12)


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
@pytest.mark.parametrize(("reduce", "initial"), [(np.maximum, -np.inf), (np.add, 0.0)])
def test_pooling_reduces_each_window(padding, reduce, initial):
    x = np.random.default_rng(0).normal(size=(2, 7, 5, 3))
    window, strides = (1, 3, 2, 1), (1, 2, 2, 1)
    found = pooled(x, initial, reduce, window, strides, padding)
    padded = np.pad(x, compute_padding(padding, x.shape, window, strides), constant_values=initial)
    for n, i, j, c in product(*map(range, found.shape)):
        seen = padded[n, 2 * i : 2 * i + 3, 2 * j : 2 * j + 2, c]
        assert found[n, i, j, c] == pytest.approx(reduce.reduce(seen.reshape(-1)))
    assert found.shape[1:3] == ((3, 2) if padding == "VALID" else (4, 3))


def test_an_input_that_is_too_small_gives_no_numbers():
    x, kernel = np.zeros((2, 2, 3)), np.zeros((3, 3, 4))
    assert convolved(x, kernel, [1], "VALID", [1], axes(1)).shape == (2, 0, 4)
    assert pooled(x, 0.0, np.add, (1, 3, 1), (1, 1, 1), "VALID").shape == (2, 0, 3)


#: What uses each function that Keras' NumPy backend takes from JAX otherwise.
GRAPHS = [
    chained(
        (9, 8, 4),
        layer("Conv2D", filters=6, kernel_size=[3, 2], strides=[2, 1], padding="same"),
        layer("DepthwiseConv2D", kernel_size=[2, 2]),
        layer("Conv2DTranspose", filters=4, kernel_size=[3, 3], strides=[2, 2]),
        layer("MaxPooling2D"),
        layer("AveragePooling2D", pool_size=[2, 2], padding="same"),
    ),
    chained(
        (7, 4),
        layer("SeparableConv1D", filters=3, kernel_size=[2], padding="same"),
        layer("Conv1D", filters=4, kernel_size=[2], padding="causal", dilation_rate=[2]),
        layer("GRU", units=3),
    ),
]


@pytest.mark.slow
def test_the_reference_agrees_with_pytorch_in_float64():
    with working(("numpy:float64", "pytorch:float64")) as pool:
        for at, graph in enumerate(GRAPHS):
            result = pool.run(task_of(graph, "normal", index=at))
            assert {o.status for o in result.outcomes.values()} == {"ok"}
            found, expected = (result.outputs[b]["normal"][0] for b in pool.backends)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
