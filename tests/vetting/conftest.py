"""What the tests of vetting share: models in their own process, and a real pair."""

import pytest
from digit_pairs import damage, make_pair

from asterism.models.tensor_models import subjects
from asterism.models.tensor_models.model import FileModel


@pytest.fixture
def models_here(monkeypatch):
    """Vetted models run in the test's own process."""
    monkeypatch.setattr(subjects, "IsolatedFileModel", FileModel)


@pytest.fixture(scope="package")
def digits(tmp_path_factory):
    """A folder with a real pair, one that is damaged in one node, and inputs."""
    folder = tmp_path_factory.mktemp("digits")
    make_pair(folder)
    damage(folder / "int8.onnx", folder / "damaged.onnx", "w1", 8)
    return folder
