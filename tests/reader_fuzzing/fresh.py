"""Documents that Hypothesis makes up, which no mutation of a whole file would reach."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from reader_fuzzing.mutators.archives import zipped
from reader_fuzzing.mutators.text import TOKENS
from reader_fuzzing.mutators.trees import ODD_VALUES

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(TOKENS),
)
_TREES = st.recursive(
    _SCALARS | st.sampled_from(ODD_VALUES),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


def _as_json(tree: Any) -> bytes:
    return json.dumps(tree).encode("utf-8", "surrogatepass")


def _as_yaml(tree: Any) -> bytes:
    return yaml.safe_dump(tree, allow_unicode=True).encode("utf-8", "surrogatepass")


_PARAMETERS = st.dictionaries(
    st.sampled_from(["data", "state", "data.root", "abstraction", "fuzz", "pairs", "seed", "kinds"])
    | st.text(max_size=6),
    _TREES,
    max_size=5,
)
_SIZES = st.integers(-2, 12) | st.sampled_from([2**31, 2**63, 10**400, None, "x", 1.5])
_LAYERS = (
    "InputLayer", "Dense", "Conv1D", "Conv2D", "Conv2DTranspose", "DepthwiseConv2D", "LSTM", "GRU",
    "MaxPooling2D", "AveragePooling1D", "Flatten", "Reshape", "Permute", "Add", "Concatenate",
    "Dot", "BatchNormalization", "LayerNormalization", "Embedding", "Cropping2D", "ZeroPadding2D",
    "UpSampling2D", "Softmax", "ReLU", "TimeDistributed", "Bidirectional", "RepeatVector", "Lambda",
    "MultiHeadAttention", "Attention", "GlobalAveragePooling2D", "Identity", "Normalization", "os",
)  # fmt: skip
_KEYS = (
    "shape", "dtype", "units", "filters", "kernel_size", "strides", "padding", "activation",
    "pool_size", "axis", "target_shape", "dims", "return_sequences", "input_dim", "n", "cropping",
    "size", "data_format", "use_bias", "num_heads", "key_dim", "output_dim",
)  # fmt: skip
_CONFIGS = st.dictionaries(
    st.sampled_from(_KEYS),
    st.one_of(
        _SIZES,
        st.lists(_SIZES, max_size=3),
        st.sampled_from(["float32", "int64", "valid", "same", "relu", "channels_last", True]),
        st.sampled_from(ODD_VALUES),
    ),
    max_size=6,
)


@st.composite
def _graphs(draw: st.DrawFn) -> bytes:
    nodes: list[dict[str, Any]] = [
        {
            "id": 0,
            "type": "InputLayer",
            "config": {"shape": draw(st.lists(_SIZES, max_size=4)), "dtype": "float32"},
            "inputs": [],
            "seed": 0,
        }
    ]
    for number in range(1, draw(st.integers(1, 5))):
        nodes.append(
            {
                "id": number,
                "type": draw(st.sampled_from(_LAYERS)),
                "config": draw(_CONFIGS) | {"dtype": "float32"},
                "inputs": draw(st.lists(st.integers(0, number - 1), max_size=3)),
                "seed": draw(st.integers(0, 9)),
            }
        )
    return _as_json([{"name": "fresh", "nodes": nodes}])


def _npz(many: dict[str, Any]) -> bytes:
    import io

    members = []
    for name, array in many.items():
        file = io.BytesIO()
        np.lib.format.write_array(file, array, allow_pickle=False)
        members.append((f"{name}.npy", file.getvalue()))
    return zipped(members)


_ARRAYS = st.dictionaries(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
    st.one_of(
        arrays.arrays(kind, arrays.array_shapes(min_dims=0, max_dims=4, max_side=4))
        for kind in (np.uint8, np.float32, np.int64, np.bool_, "U3", "S2", "M8[s]", np.complex64)
    ),
    max_size=4,
)
_CSV = st.lists(st.lists(st.text(max_size=5) | st.sampled_from(TOKENS), max_size=5), max_size=5)

STRATEGIES: dict[str, st.SearchStrategy[bytes]] = {
    "json": _TREES.map(_as_json),
    "yaml": (_PARAMETERS | _TREES).map(_as_yaml),
    "graphs": _graphs(),
    "npz": _ARRAYS.map(_npz),
    "csv": _CSV.map(lambda rows: "\n".join(map(",".join, rows)).encode("utf-8", "replace")),
}


def made_up(name: str, count: int, seed: int) -> list[bytes]:
    """Some documents of a strategy, the same for the same seed."""
    found: list[bytes] = []

    @hypothesis.seed(seed)
    @settings(
        max_examples=count, database=None, phases=[Phase.generate], deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(STRATEGIES[name])
    def collect(document: bytes) -> None:
        found.append(document)

    run: Callable[[], None] = collect
    run()
    return found
