"""What vetting says of PyTorch's modules is true of generated pairs whose truth is known."""

import pytest
from truths import modules

from thinning import every

#: One of each kind of inputs, with damage to a layer, to some inputs, and with none; the first
#: among the fast tests.
SAMPLE = (0, 4, 6, 7, 8)


@pytest.mark.parametrize("number", every(len(SAMPLE), SAMPLE))
def test_what_is_said_of_a_pair_is_true(number):
    outcome = modules.run_pair(0, number)
    assert outcome["failures"] == []
    assert outcome["blamed"] in (True, None)
