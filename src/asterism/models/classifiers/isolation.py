"""Classifiers in processes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from asterism.models.classifiers.classifier import (
    Images,
    Probabilities,
    open_classifier,
    require_images,
)
from asterism.models.isolation.isolated_model import IsolatedModel, Served
from asterism.models.keras_models.preprocessing import PreprocessingParams


class IsolatedClassifier:
    """A :class:`~asterism.models.classifiers.classifier.Classifier` in a process of its own.

    See :class:`~asterism.models.isolation.isolated_model.IsolatedModel`. Use it as a context, or
    ``close`` it.

    Args:
        path: the model file.
        preprocessing: what happens to the uint8 images first.

    Raises:
        ModelCrashError: opening the file ended the process.
        ModelHangError: opening the file took too long.
        UserError: the file cannot be opened.
    """

    def __init__(self, path: Path, preprocessing: PreprocessingParams) -> None:
        self._model = IsolatedModel(path, open_served, [str(path), preprocessing.model_dump()])
        self.name = path.name
        facts = self._model.facts
        height, width, channels = facts["input_shape"]
        self.input_shape: tuple[int, int, int] = (height, width, channels)
        self.classes = int(facts["classes"])
        self.notes = tuple(facts["notes"])
        #: Whether the file ends in logits, so that a softmax was added.
        self.logits = bool(facts["logits"])

    @property
    def pid(self) -> int | None:
        """Its process, None where it has ended."""
        return self._model.pid

    def predict(self, images: Images) -> Probabilities:
        """See :meth:`asterism.models.classifiers.classifier.Classifier.predict`.

        Raises:
            ModelCrashError: on these images the model ended its process, or raised an error.
            ModelHangError: it did not answer in time.
        """
        require_images(images, self.input_shape, self.name)
        (probabilities,) = self._model.ask([images])
        return probabilities

    def close(self) -> None:
        """End the process."""
        self._model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_served(path: str, preprocessing: dict[str, Any]) -> Served:
    """A classifier as :class:`IsolatedClassifier` opens it in the other process."""
    model = open_classifier(Path(path), PreprocessingParams.model_validate(preprocessing))
    facts = {
        "input_shape": model.input_shape,
        "classes": model.classes,
        "notes": model.notes,
        "logits": model.logits,
    }
    return facts, lambda arrays: [model.predict(arrays[0])]
