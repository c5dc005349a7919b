"""Small graphs that several tests use."""

from __future__ import annotations

from asterism.memo.generating.params import GenerateParams
from asterism.memo.graphs.graph import Graph, Node, input_node, sequential
from asterism.memo.universe.tensors import Tensor


def layer(kind: str, **config: object):
    """A step for ``chain``."""
    return lambda _: Node(kind, {**config, "dtype": "float32"}, seed=7)


def convolutional(filters: int = 4, units: int = 5) -> Graph:
    """Convolution, normalisation, pooling, dense."""
    return sequential(
        Tensor((12, 12, 1)),
        [
            layer("Conv2D", filters=filters, kernel_size=[3, 3], padding="same", activation="relu"),
            layer("BatchNormalization"),
            layer("ReLU"),
            layer("MaxPooling2D", pool_size=[2, 2]),
            layer("Flatten"),
            layer("Dense", units=units),
        ],
    )


def recurrent(units: int = 4, last: int = 2) -> Graph:
    """LSTM and dense."""
    first = layer("LSTM", units=units, return_sequences=True)
    return sequential(Tensor((6, 3)), [first, layer("Dense", units=last)])


def branching(units: int = 4) -> Graph:
    """Two branches that are added."""
    bent = {"units": units, "activation": "tanh", "dtype": "float32"}
    return Graph(
        {
            0: input_node((6,)),
            1: Node("Dense", {"units": units, "dtype": "float32"}, (0,), seed=1),
            2: Node("Dense", bent, (0,), seed=2),
            3: Node("Add", {"dtype": "float32"}, (1, 2)),
            4: Node("ReLU", {"dtype": "float32"}, (3,)),
        }
    )


def generate_params(**changes: object) -> GenerateParams:
    """A campaign of some models, but for what is changed."""
    values: dict[str, object] = {
        "strategy": "memo",
        "compared": [],
        "models": 30,
        "executed": None,
        "islands": 1,
        "mutations": 1,
        "published": False,
        "p": 0.05,
        "max_layers": 20,
        "max_steps": 100,
        "max_elements": 2000,
        "tries": 5,
    }
    return GenerateParams.model_validate(values | changes)
