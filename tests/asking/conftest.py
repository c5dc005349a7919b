"""Models are opened in this process, which is many times faster; one test opens them apart."""

import pytest

from asterism.models.tensor_models import subjects
from asterism.models.tensor_models.model import FileModel


@pytest.fixture
def quick(monkeypatch):
    """Opens models in this process."""
    monkeypatch.setattr(subjects, "IsolatedFileModel", FileModel)
