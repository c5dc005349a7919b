"""Classifiers in processes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asterism.models.classifiers.classifier import (
    Images,
    Probabilities,
    open_classifier,
    require_images,
)
from asterism.models.isolation.isolated_model import IsolatedModel, Served
from asterism.models.keras_models.preprocessing import PreprocessingParams


class IsolatedClassifier(IsolatedModel):
    """A :class:`~asterism.models.classifiers.classifier.Classifier` in a process of its own.

    Args:
        path: the model file.
        preprocessing: what happens to the uint8 images first.

    Raises:
        UserError: see :class:`~asterism.models.isolation.isolated_model.IsolatedModel`.
    """

    def __init__(self, path: Path, preprocessing: PreprocessingParams) -> None:
        super().__init__(path, served_classifier, [str(path), preprocessing.model_dump()])
        height, width, channels = self.facts["input_shape"]
        self.input_shape: tuple[int, int, int] = (height, width, channels)
        self.classes = int(self.facts["classes"])
        self.notes = tuple(self.facts["notes"])
        #: Whether the file ends in logits, so that a softmax was added.
        self.logits = bool(self.facts["logits"])

    def predict(self, images: Images) -> Probabilities:
        """See :meth:`asterism.models.classifiers.classifier.Classifier.predict`.

        Raises:
            ModelCrashError: on these images the model ended its process, or raised an error.
            ModelHangError: it did not answer in time.
        """
        require_images(images, self.input_shape, self.name)
        (probabilities,) = self.ask([images])
        return probabilities


#: What is told of an opened classifier.
_FACTS = ("input_shape", "classes", "notes", "logits")


def served_classifier(path: str, preprocessing: dict[str, Any]) -> Served:
    """A classifier as :class:`IsolatedClassifier` opens it in the other process."""
    model = open_classifier(Path(path), PreprocessingParams.model_validate(preprocessing))
    facts = {name: getattr(model, name) for name in _FACTS}
    return facts, lambda arrays: [model.predict(arrays[0])]
