"""Shapes of layers' outputs and what layers reject, by hand from Keras' documentation."""

import pytest

from asterism.memo.universe.layers import universe
from asterism.memo.universe.shapes import factorise
from asterism.memo.universe.tensors import InvalidLayerError, Tensor

FIRST = {"data_format": "channels_first"}
SAME, SEQUENCES = {"padding": "same"}, {"return_sequences": True}
CONVOLUTION = {"filters": 4, "kernel_size": 3}
GROUPED = {"head_dim": 3, "num_key_value_heads": 2}

#: Layer, configuration, shapes of the inputs, and the shape of the output.
SHAPES = [
    ("MaxPooling1D", {}, [(7, 3)], (3, 3)),
    ("MaxPooling2D", {"pool_size": [3, 2], "strides": [1, 3]}, [(7, 8, 3)], (5, 3, 3)),
    ("AveragePooling2D", {"pool_size": [2, 2], **FIRST}, [(3, 7, 9)], (3, 3, 4)),
    ("GlobalMaxPooling2D", {}, [(7, 8, 3)], (3,)),
    ("GlobalAveragePooling2D", {"keepdims": True, **FIRST}, [(3, 7, 8)], (3, 1, 1)),
    ("AdaptiveMaxPooling2D", {"output_size": [7, 2]}, [(7, 8, 3)], (7, 2, 3)),
    ("Conv2D", {"filters": 4, "kernel_size": 3, **FIRST}, [(2, 7, 8)], (4, 5, 6)),
    ("SeparableConv2D", {"filters": 4, "kernel_size": [3, 3]}, [(7, 8, 2)], (5, 6, 4)),
    ("DepthwiseConv2D", {"kernel_size": 3, "depth_multiplier": 3}, [(7, 8, 2)], (5, 6, 6)),
    ("DepthwiseConv2D", {"kernel_size": 3, "strides": 2, **SAME}, [(7, 8, 2)], (4, 4, 2)),
    ("Conv1DTranspose", {"filters": 3, "kernel_size": 4, "strides": 2}, [(5, 2)], (12, 3)),
    ("Conv1DTranspose", {"filters": 3, "kernel_size": 3, "dilation_rate": 2}, [(5, 2)], (9, 3)),
    ("Conv2DTranspose", {**CONVOLUTION, "strides": [1, 2], **SAME}, [(5, 6, 2)], (5, 12, 4)),
    ("Flatten", {}, [(2, 3, 4)], (24,)),
    ("Reshape", {"target_shape": [4, -1, 2]}, [(2, 3, 4)], (4, 3, 2)),
    ("Permute", {"dims": [3, 1, 2]}, [(2, 3, 4)], (4, 2, 3)),
    ("RepeatVector", {"n": 5}, [(3,)], (5, 3)),
    ("Cropping1D", {"cropping": [1, 2]}, [(7, 3)], (4, 3)),
    ("Cropping2D", {"cropping": [[1, 2], [0, 3]]}, [(7, 8, 3)], (4, 5, 3)),
    ("ZeroPadding2D", {"padding": [1, 2]}, [(7, 8, 3)], (9, 12, 3)),
    ("ZeroPadding2D", {"padding": 2, **FIRST}, [(3, 7, 8)], (3, 11, 12)),
    ("UpSampling1D", {"size": 3}, [(7, 3)], (21, 3)),
    ("UpSampling2D", {"size": [2, 3]}, [(7, 8, 3)], (14, 24, 3)),
    ("CenterCrop", {"height": 4, "width": 5, **FIRST}, [(3, 7, 8)], (3, 4, 5)),
    ("Add", {}, [(3, 1), (1, 4), (3, 4)], (3, 4)),
    ("Multiply", {}, [(3, 4), (3, 4)], (3, 4)),
    ("Concatenate", {}, [(3, 4), (3, 5)], (3, 9)),
    ("Concatenate", {"axis": 1}, [(3, 4), (2, 4), (1, 4)], (6, 4)),
    ("Dot", {"axes": [2, 1]}, [(3, 4), (4, 5)], (3, 5)),
    ("Dot", {"axes": -1}, [(3, 4), (5, 4)], (3, 5)),
    ("Dot", {"axes": 1}, [(3,), (3,)], (1,)),
    ("LSTM", {"units": 5}, [(3, 4)], (5,)),
    ("GRU", {"units": 5, "return_sequences": True}, [(3, 4)], (3, 5)),
    ("Bidirectional", {"layer": "GRU", "units": 5, **SEQUENCES}, [(3, 4)], (3, 10)),
    ("ConvLSTM1D", {"filters": 2, "kernel_size": [2]}, [(5, 7, 3)], (6, 2)),
    ("ConvLSTM2D", {**CONVOLUTION, **SEQUENCES, **FIRST}, [(5, 3, 7, 8)], (5, 4, 5, 6)),
    ("TimeDistributed", {"layer": "Dense", "units": 5}, [(3, 4)], (3, 5)),
    ("TimeDistributed", {"layer": "LSTM"}, [(6, 3, 4)], (6, 3)),
    ("SpectralNormalization", {"layer": "Dense"}, [(3, 5)], (3, 4)),
    ("SpectralNormalization", {"layer": "Conv1D"}, [(5, 3)], (4, 4)),
    ("Attention", {}, [(3, 4), (5, 6), (5, 4)], (3, 6)),
    ("GroupQueryAttention", {**GROUPED, "num_query_heads": 4}, [(3, 4), (5, 4)], (3, 4)),
    ("GroupNormalization", {"groups": 3, "axis": 1}, [(3, 8)], (3, 8)),
    ("BatchNormalization", {"axis": 2}, [(3, 8)], (3, 8)),
    ("PReLU", {"shared_axes": [1, 2]}, [(3, 8)], (3, 8)),
    ("Embedding", {"input_dim": 20, "output_dim": 6}, [((3, 4), "int32")], (3, 4, 6)),
    ("EinsumDense", {"equation": "abc,cd->abd", "new_axis": 5}, [(3, 4)], (3, 5)),
]

#: Layer, configuration, shapes of the inputs, and what of the reason is said.
REJECTED = [
    ("AdaptiveMaxPooling2D", {"output_size": [8, 2]}, [(7, 8, 3)], "only shrinks"),
    ("Conv2D", {"filters": 4, "kernel_size": 3, "groups": 4}, [(7, 8, 6)], "the channels"),
    ("Conv2D", {"filters": 3, "kernel_size": 3, "groups": 2}, [(7, 8, 6)], "the filters"),
    ("Conv1D", {**CONVOLUTION, "padding": "causal", **FIRST}, [(7, 8)], "channels last"),
    ("Conv1DTranspose", {**CONVOLUTION, "strides": 2, "dilation_rate": 2}, [(7, 8)], "exclude"),
    ("ConvLSTM1D", {**CONVOLUTION, "dilation_rate": 2}, [(5, 7, 3)], "no parameter"),
    ("Reshape", {"target_shape": [-1, -1]}, [(6,)], "one size at most"),
    ("Reshape", {"target_shape": [0, -1]}, [(6,)], "must divide"),
    ("Reshape", {"target_shape": [5]}, [(6,)], "keeps the number"),
    ("Permute", {"dims": [0, 1]}, [(6, 2)], "every axis once"),
    ("Cropping1D", {"cropping": [3, 4]}, [(7, 3)], "leaves nothing"),
    (
        "Resizing",
        {"height": 4, "width": 9, "crop_to_aspect_ratio": True, "pad_to_aspect_ratio": True},
        [(7, 8, 3)],
        "cropped or padded",
    ),
    ("Add", {}, [(3, 4), (2, 4)], "one shape"),
    ("Add", {}, [(3, 4), (4,)], "one rank"),
    ("Add", {}, [(3, 4)], "takes 2 to"),
    ("Concatenate", {}, [(3, 4), (2, 4)], "other axes"),
    ("Concatenate", {"axis": 0}, [(3, 4), (3, 4)], "no such axis"),
    ("Concatenate", {}, [(3, 4), (4,)], "one rank"),
    ("Dot", {"axes": 1}, [(3, 4), (2, 4)], "one size"),
    ("Dot", {"axes": 0}, [(3, 4), (3, 4)], "no such axis"),
    ("Attention", {}, [(3, 4), (5, 6)], "one depth"),
    ("Attention", {}, [(3, 4), (5, 6), (7, 4)], "one length"),
    ("MultiHeadAttention", {"num_heads": 2, "key_dim": 3}, [(3, 4), (5, 6)], "one depth"),
    ("GroupQueryAttention", {**GROUPED, "num_query_heads": 3}, [(3, 4), (5, 4)], "must divide"),
    ("GroupNormalization", {"groups": 3}, [(3, 8)], "divide the axis"),
    ("GroupNormalization", {"groups": 0}, [(3, 8)], "at most"),
    ("LayerNormalization", {"axis": [1, 3]}, [(3, 8)], "no such axis"),
    ("PReLU", {"shared_axes": [3]}, [(3, 8)], "no such axis"),
    ("Bidirectional", {"layer": "SimpleRNN", "units": 2, "reset_after": False}, [(3, 4)], "has no"),
    ("TimeDistributed", {"layer": "ReLU", "use_bias": False}, [(3, 4)], "has no"),
    ("SpectralNormalization", {"layer": "ReLU"}, [(3, 4)], "with a kernel"),
    ("Conv2D", {"filters": 5, "kernel_size": 2}, [(3, 4)], "takes no rank 3"),
    ("Dense", {"units": 5}, [((3, 4), "int32")], "takes no int32"),
]


def output(name, config, shapes):
    tensors = [Tensor(*given) if isinstance(given[0], tuple) else Tensor(given) for given in shapes]
    return universe()[name].output(config, tensors)


@pytest.mark.parametrize(("name", "config", "shapes", "shape"), SHAPES)
def test_a_layer_puts_out_this_shape(name, config, shapes, shape):
    assert output(name, config, shapes) == Tensor(shape, "float32")
    half = {**config, "dtype": "float16"}
    assert output(name, half, shapes) == Tensor(shape, "float16")


@pytest.mark.parametrize(("name", "config", "shapes", "reason"), REJECTED)
def test_a_layer_rejects_this(name, config, shapes, reason):
    with pytest.raises(InvalidLayerError, match=reason):
        output(name, config, shapes)


@pytest.mark.parametrize(
    ("size", "axes", "expected"),
    [
        *((24, 1, (24,)), (24, 2, (4, 6)), (24, 3, (3, 2, 4)), (7, 2, (1, 7)), (1, 3, (1, 1, 1))),
        *((36, 2, (6, 6)), (64, 3, (4, 4, 4))),
    ],
)
def test_a_size_is_the_product_of_about_equal_factors(size, axes, expected):
    assert factorise(size, axes) == expected
