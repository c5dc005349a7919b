"""Architectures have the sizes that were published of them."""

import math

import pytest

from asterism.models.architectures import build_architecture

DIGITS = (28, 28, 1)


def made(name, shape, outputs):
    return build_architecture(name, shape, outputs, key="classifier.architecture")


def neurons(model):
    """As DeepXplore counts them: a filter is one, in the layer and where it is pooled."""
    counted = [layer for layer in model.layers if layer.name not in ("images", "flatten")]
    return sum(layer.output.shape[-1] for layer in counted)


@pytest.mark.parametrize(("name", "published"), [("lenet1", 52), ("lenet4", 148), ("lenet5", 268)])
def test_lenets_have_the_neurons_of_deepxplores_table_1(name, published):
    """Pei, Cao, Yang and Jana, SOSP 2017."""
    assert neurons(made(name, DIGITS, 10)) == published


def test_dave_2_has_the_neurons_of_deepxplores_table_1():
    """Which leaves out the one output."""
    model = made("dave2", (100, 100, 3), 1)
    assert neurons(model) - 1 == 1560


@pytest.mark.parametrize(
    ("name", "filters", "dense"),
    [
        ("lenet1", (4, 12), ()),
        ("lenet4", (6, 16), (84,)),
        ("lenet5", (6, 16), (120, 84)),
    ],
)
@pytest.mark.parametrize(("height", "width", "channels"), [DIGITS, (32, 20, 3)])
def test_lenets_have_as_many_weights_as_their_layers_say(
    name, filters, dense, height, width, channels
):
    """Convolutions of 5×5, each halved by its pooling; every filter and unit has a bias."""
    expected, read = 0, channels
    for count in filters:
        expected += (5 * 5 * read + 1) * count
        read = count
    read *= height // 4 * (width // 4)
    for units in (*dense, 10):
        expected += (read + 1) * units
        read = units
    assert made(name, (height, width, channels), 10).count_params() == expected


@pytest.mark.parametrize("name", ["resnet20", "plainnet20"])
def test_networks_of_20_layers_have_270_thousand_weights(name):
    """He, Zhang, Ren and Sun, CVPR 2016, table 6: 0.27 million on images of 32×32."""
    model = made(name, (32, 32, 3), 10)
    assert round(model.count_params() / 1e6, 2) == 0.27
    kernels = [w for w in model.weights if w.path.endswith("kernel")]
    assert sum(1 for w in kernels if tuple(w.shape)[:2] != (1, 1)) == 20


def test_vgg_16_has_the_convolutions_of_configuration_d():
    """Simonyan and Zisserman, ICLR 2015, table 1."""
    rows = [64] * 2 + [128] * 2 + [256] * 3 + [512] * 6
    model = made("vgg16", (32, 32, 3), 10)
    kernels = [tuple(w.shape) for w in model.weights if len(w.shape) == 4]
    assert kernels == [(3, 3, *pair) for pair in zip([3, *rows], rows, strict=False)]
    assert sum(map(math.prod, kernels)) == 14_710_464
