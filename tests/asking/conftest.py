"""Models are opened in this process, which is many times faster; one test opens them apart."""

import pytest

from asterism.asking import original
from asterism.models.tensor_models.model import FileModel


class InThisProcess:
    """As :class:`~asterism.models.tensor_models.isolated.IsolatedFileModel`."""

    def __init__(self, path, params, images, probes):
        self._model = FileModel(path, params, images, probes)
        self.predict, self.shapes = self._model.predict, self._model.shapes
        self.classes = self._model.width

    def close(self):
        """There is no other process."""


@pytest.fixture
def quick(monkeypatch):
    """Opens models in this process."""
    monkeypatch.setattr(original, "IsolatedFileModel", InThisProcess)
