"""Any supported model file as a classifier, here or in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.models.formats import open_runtime
from asterism.models.images_and_scores import (
    PreprocessingParams,
    are_logits,
    image_shape,
    require_vector,
    softmax,
)
from asterism.models.isolated_model import IsolatedModel, Served
from asterism.models.signatures.signature import Signature, TensorSpec
from asterism.models.tensor_models.feeding import FeedingParams
from asterism.models.tensor_models.model import TRIALS, FileModel, OpeningRequest

Images = NDArray[np.uint8]
Probabilities = NDArray[np.float32]

#: Rows of a call where their number changes last bits: many are quick, few do for one image.
_BATCH = 32
_FLOATS = ("float16", "float32", "float64")
#: Formats whose integers stand for real numbers, or are converted by the library.
_TAKE_INTEGERS = ("keras", "tflite")


class FileClassifier:
    """A model file with one input of images, its preprocessing and, for logits, a softmax.

    It runs in this process; a file that may take that down is for :class:`IsolatedClassifier`.

    Args:
        path: the file, of any supported format; its suffix names that.
        preprocessing: what happens to the uint8 images first.

    Attributes:
        name: the file's name, for messages and reports.
        input_shape: what one image looks like, ``(H, W, C)``.
        classes: how many classes it tells apart.
        logits: whether the file ends in logits, so that a softmax was added.
        notes: what a reader of the results should know: a softmax added, how the file is run.

    Raises:
        UserError: no such file, damaged, of another format than its name says, no classifier
            of images, or one that fails on :func:`trial_images`. One line says which.
    """

    def __init__(self, path: Path, preprocessing: PreprocessingParams) -> None:
        runtime = open_runtime(path)
        answer = _require_ends(runtime.signature, path)
        self.name = path.name
        self.input_shape = image_shape(runtime.signature.inputs[0].shape, path)
        batch = (runtime.fixed_batch or _BATCH) if runtime.varies_in else None
        trials = trial_images(self.input_shape)
        feeding = FeedingParams.of_images(preprocessing, answer.name)
        self._model = FileModel(path, OpeningRequest(feeding, True, trials), runtime, batch)
        self.classes = _require_classes(self._model, path)
        self.logits = gives_logits(self._model.predict(trials), path, answer.scale or answer.step)
        self.notes = (
            *runtime.notes,
            *((f"runs in {runtime.varies_in}, in batches of {batch}",) if batch else ()),
            *self._model.notes,
            *(("its outputs are logits, a softmax was added",) if self.logits else ()),
        )

    def predict(self, images: Images) -> Probabilities:
        """Class probabilities, float32 ``(N, K)``.

        An image's row is the same bytes in every batch.

        Args:
            images: uint8 ``(N, H, W, C)``; N may be 0.

        Raises:
            UserError: the images are of another shape or dtype than the model takes.
        """
        require_images(images, self.input_shape, self.name)
        raw = self._model.predict(images)
        return softmax(raw) if self.logits else raw


def _require_ends(signature: Signature, path: Path) -> TensorSpec:
    """The output of a classifier, the first; one input of real numbers is all that it takes.

    Raises:
        UserError: the model is none.
    """
    if len(signature.inputs) != 1 or not signature.outputs:
        raise UserError(f"{path} has {len(signature.inputs)} inputs; a classifier has one")
    given, kind = signature.inputs[0], signature.format
    if given.dtype not in _FLOATS and kind not in _TAKE_INTEGERS:
        raise UserError(f"{path} takes {given.dtype}; a classifier takes floats")
    if len(signature.outputs) > 1 and kind == "keras":  # which lists them in any order
        raise UserError(
            f"{path} gives {len(signature.outputs)} outputs; a classifier gives (batch, classes)"
        )
    return signature.outputs[0]


def _require_classes(model: FileModel, path: Path) -> int:
    """How many classes a model tells apart.

    Raises:
        UserError: its output for an image is no vector of at least two numbers.
    """
    (shape,) = model.form.shapes.values()
    one_step = model.streams and shape[:1] == (1,)  # it keeps state, and an image is one step
    classes = require_vector((None, *(shape[1:] if one_step else shape)), path)
    if classes < 2:
        raise UserError(f"{path} has one output; a classifier has one for each class, at least two")
    return classes


def require_images(images: Images, shape: tuple[int, int, int], name: str) -> None:
    """Raise a :class:`UserError` unless ``images`` are uint8 ``(N, *shape)``."""
    if images.dtype != np.uint8:
        raise UserError(
            f"images must be uint8 from 0 to 255, not {images.dtype}: preprocessing is the model's"
        )
    if images.ndim != 4 or images.shape[1:] != shape:
        raise UserError(
            f"{name} takes images of shape {shape}, but was given {tuple(images.shape[1:])}"
        )


def trial_images(shape: tuple[int, int, int]) -> Images:
    """Images of all brightnesses and contrasts, black and white among them."""
    rng = np.random.default_rng(0)
    noise = rng.random((TRIALS, *shape), dtype=np.float32)
    noise *= np.linspace(0, 255, TRIALS, dtype=np.float32)[:, None, None, None]
    noise[-1] = 255
    return noise.astype(np.uint8)


def gives_logits(raw: Probabilities, path: Path, step: float = 0.0) -> bool:
    """Whether outputs for :func:`trial_images` are no probabilities.

    A classifier may fail on some images, as one does on a black one that it divides by its
    deviation; the rows without NaN or infinity decide.

    Args:
        raw: outputs ``(N, K)``.
        path: the file, for messages.
        step: see :func:`asterism.models.images_and_scores.are_logits`.

    Raises:
        UserError: no row is finite.
    """
    finite = raw[np.isfinite(raw).all(axis=1)]
    if not len(finite):
        raise UserError(
            f"{path} gives NaN or infinite outputs for images of every kind: check the file and "
            "the preprocessing"
        )
    return are_logits(finite, step)


class IsolatedClassifier(IsolatedModel):
    """A :class:`FileClassifier` in a process of its own.

    Args:
        path: the model file.
        preprocessing: what happens to the uint8 images first.

    Raises:
        UserError: see :class:`~asterism.models.isolated_model.IsolatedModel`.
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
        """See :meth:`FileClassifier.predict`.

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
    model = FileClassifier(Path(path), PreprocessingParams.model_validate(preprocessing))
    facts = {name: getattr(model, name) for name in _FACTS}
    return facts, lambda arrays: [model.predict(arrays[0])]
