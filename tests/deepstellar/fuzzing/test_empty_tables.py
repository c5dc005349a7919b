"""Tables of a campaign that has found nothing yet."""

import numpy as np

from asterism.deepstellar.campaigns.population import FailingMutants


def test_no_crash_is_known_before_the_first():
    inputs = np.ones((3, 2, 2, 1), np.uint8)
    crashes = FailingMutants.none_yet(inputs)
    assert len(crashes) == 0
    columns = ("images", "parent", "root", "mutator", "found", "label", "predicted")
    assert {name: len(crashes.rows[name]) for name in columns} == dict.fromkeys(columns, 0)
    assert crashes.rows["images"].shape == (0, 2, 2, 1)
    assert crashes.rows["images"].dtype == np.uint8
