"""Which axes of a model file's input are which."""

from pathlib import Path

import pytest

from asterism.core.messages.errors import UserError
from asterism.models.classifiers.layout import image_shape, require_vector

FILE = Path("m.onnx")


@pytest.mark.parametrize(
    ("shape", "image"),
    [
        ((None, 4, 5, 3), (4, 5, 3)),
        ((None, 4, 5, 1), (4, 5, 1)),
        ((None, 3, 4, 5), (4, 5, 3)),
        ((7, 1, 4, 5), (4, 5, 1)),
        ((1, 3, 4, 3), (3, 4, 3)),
    ],
)
def test_a_model_s_input_tells_the_shape_of_its_images(shape, image):
    assert image_shape(shape, FILE) == image


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((None, 10), "an image classifier takes"),
        ((None, 4, 5), "an image classifier takes"),
        ((None, 4, None, 3), "only the batch may have a free size"),
        ((None, 4, 5, 2), "no axis of 1 or 3 channels"),
    ],
)
def test_what_is_no_image_is_told(shape, message):
    with pytest.raises(UserError, match=rf"m\.onnx .*shape.*{message}"):
        image_shape(shape, FILE)


def test_a_classifier_gives_one_vector():
    assert require_vector((None, 7), FILE) == require_vector((0, 7), FILE) == 7
    for shape in ((7,), (None, 7, 1), (None, None), (None, 0)):
        with pytest.raises(UserError, match="a classifier gives"):
            require_vector(shape, FILE)
