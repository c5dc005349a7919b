"""Pictures as markup."""

import numpy as np
import pytest

from asterism.report.base.pictures import png


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((28, 28, 1), 'width="84" height="84"'),
        ((48, 192, 3), 'width="336" height="84"'),
        ((10, 800, 3), 'width="336" height="4"'),
        ((100, 50, 1), 'width="42" height="84"'),
        ((800, 2, 1), 'width="1" height="400"'),
    ],
)
def test_an_image_is_shown_as_wide_as_it_is(shape, size):
    assert size in png(np.zeros(shape, np.uint8), "black")
