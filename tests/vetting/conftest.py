"""What the tests of vetting share: a real pair."""

import pytest


@pytest.fixture(scope="package")
def digits(tmp_path_factory):
    """A folder with a real pair, one that is damaged in one node, and inputs."""
    from digit_pairs import damage, make_pair

    folder = tmp_path_factory.mktemp("digits")
    make_pair(folder)
    damage(folder / "int8.onnx", folder / "damaged.onnx", "w1", 8)
    return folder
