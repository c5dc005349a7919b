"""Which axes of a model file's input are which."""

from pathlib import Path

import numpy as np
import pytest

from asterism.core.messages.errors import UserError
from asterism.models.classifiers.formats.layout import Layout, require_vector

FILE = Path("m.onnx")


@pytest.mark.parametrize(
    ("shape", "image", "channels_first", "fixed"),
    [
        ((None, 4, 5, 3), (4, 5, 3), False, None),
        (("N", 4, 5, 1), (4, 5, 1), False, None),
        ((0, 4, 5, 1), (4, 5, 1), False, None),
        ((-1, 3, 4, 5), (4, 5, 3), True, None),
        ((7, 1, 4, 5), (4, 5, 1), True, 7),
        ((1, 3, 4, 3), (3, 4, 3), False, 1),
    ],
)
def test_images_are_brought_into_the_file_s_own_layout(shape, image, channels_first, fixed):
    layout = Layout(shape, FILE)
    assert layout.input_shape == image
    assert (layout.channels_first, layout.fixed_batch) == (channels_first, fixed)
    batch = np.arange(2 * np.prod(image), dtype=np.float32).reshape(2, *image)
    expected = np.moveaxis(batch, -1, 1) if channels_first else batch
    adapted = layout.adapt(batch)
    assert np.array_equal(adapted, expected)
    assert adapted.strides == np.ascontiguousarray(expected).copy(order="C").strides


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ((None, 4, 5), "an image classifier takes"),
        ((None, 0, 5, 3), "only the batch may have a free size"),
        ((None, 4, -1, 3), "only the batch may have a free size"),
        ((None, 3, 4, "W"), "only the batch may have a free size"),
        ((None, 4, 5, 2), "no axis of 1 or 3 channels"),
    ],
)
def test_what_is_no_image_is_told(shape, told):
    with pytest.raises(UserError, match=told):
        Layout(shape, FILE)


def test_a_classifier_gives_one_vector():
    assert require_vector((None, 7), FILE) == require_vector((0, 7), FILE) == 7
    for shape in ((7,), (None, 7, 1), (None, None), (None, 0)):
        with pytest.raises(UserError, match="a classifier gives"):
            require_vector(shape, FILE)
