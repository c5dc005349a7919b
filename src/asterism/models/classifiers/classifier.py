"""Any supported model file as a classifier: images in, probabilities out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import require_file
from asterism.core.messages.errors import UserError
from asterism.core.settings.regular_files import open_regular
from asterism.models.classifiers.batching import PROBES, IndependentRows
from asterism.models.classifiers.formats import FORMATS, Batch, Format
from asterism.models.keras_models.preprocessing import PreprocessingParams
from asterism.models.keras_models.probabilities import are_logits, softmax

Images = NDArray[np.uint8]
Probabilities = NDArray[np.float32]


class Classifier(Protocol):
    """A model under test, as a black box."""

    #: The file's name, for messages and reports.
    name: str
    #: What one image looks like, ``(H, W, C)``.
    input_shape: tuple[int, int, int]
    #: How many classes it tells apart.
    classes: int
    #: What a reader of the results should know: a softmax added, how the file is run.
    notes: tuple[str, ...]

    def predict(self, images: Images) -> Probabilities:
        """Class probabilities, float32 ``(N, K)``.

        An image's row is the same bytes in every batch.

        Args:
            images: uint8 ``(N, H, W, C)``; N may be 0.

        Raises:
            UserError: the images are of another shape or dtype than the model takes.
        """
        ...


def open_classifier(path: Path, preprocessing: PreprocessingParams) -> FileClassifier:
    """Open a model file of any supported format in this process.

    :class:`asterism.models.classifiers.isolation.IsolatedClassifier` does the same for a file that
    may take the process down.

    Raises:
        UserError: no such file, damaged, of another format than its name says, no classifier
            of images, or one that fails on :func:`probe_images`. One line says which.
    """
    return FileClassifier(path, preprocessing)


class FileClassifier:
    """A model file, its preprocessing and, for one that ends in logits, a softmax.

    Args:
        path: the file; its suffix names the format.
        preprocessing: what happens to the uint8 images first.

    Attributes:
        logits: whether the file ends in logits, so that a softmax was added.
    """

    def __init__(self, path: Path, preprocessing: PreprocessingParams) -> None:
        self._runtime = _find_format(path).open(path)
        self._preprocessing = preprocessing
        self.name = path.name
        self.input_shape = self._runtime.input_shape
        self.classes = self._runtime.outputs
        if self.classes < 2:
            raise UserError(
                f"{path} has one output; a classifier has one for each class, at least two"
            )
        probes = self._preprocess(probe_images(self.input_shape))
        with _probing(path):
            self._rows = IndependentRows(self._runtime.run, self._runtime.fixed_batch, probes)
            raw = self._rows(probes)
        self.logits = gives_logits(raw, path, self._runtime.output_step)
        self.notes = self._runtime.notes + (
            ("its outputs are logits, a softmax was added",) if self.logits else ()
        )

    def predict(self, images: Images) -> Probabilities:
        """See :meth:`Classifier.predict`."""
        require_images(images, self.input_shape, self.name)
        if not len(images):
            return np.empty((0, self.classes), np.float32)
        raw: Batch = self._rows(self._preprocess(images))
        return softmax(raw) if self.logits else raw

    def _preprocess(self, images: Images) -> Batch:
        return self._preprocessing.apply(images)


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


def probe_images(shape: tuple[int, int, int]) -> Images:
    """Images of all brightnesses and contrasts, black and white among them."""
    rng = np.random.default_rng(0)
    noise = rng.random((PROBES, *shape), dtype=np.float32)
    noise *= np.linspace(0, 255, PROBES, dtype=np.float32)[:, None, None, None]
    noise[-1] = 255
    return noise.astype(np.uint8)


@contextmanager
def _probing(path: Path) -> Iterator[None]:
    """Whatever a runtime raises in the block, it raises for :func:`probe_images`."""
    try:
        yield
    except Exception as error:
        raise UserError(
            f"{path} failed on a probe image (noise, black or white) when it was opened: {error}"
        ) from error


def gives_logits(raw: Batch, path: Path, step: float = 0.0) -> bool:
    """Whether outputs for :func:`probe_images` are no probabilities.

    A classifier may fail on some images, as one does on a black one that it divides by its
    deviation; the rows without NaN or infinity decide.

    Args:
        raw: outputs ``(N, K)``.
        path: the file, for messages.
        step: see :func:`asterism.models.keras_models.probabilities.are_logits`.

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


def _find_format(path: Path) -> type[Format]:
    require_file(path, "model file")
    formats = [FORMATS[name] for name in FORMATS]
    suffixes = sorted(suffix for f in formats for suffix in f.suffixes)
    with open_regular(path) as file:
        head = file.read(64)
    claimed = next((f for f in formats if path.suffix in f.suffixes), None)
    if claimed is None:
        raise UserError(
            f"{path}: no model format has the suffix {path.suffix!r} (known: {', '.join(suffixes)})"
        )
    if claimed.recognises(head, path):
        return claimed
    for name in FORMATS:
        for suffix in FORMATS[name].suffixes if FORMATS[name].has_signature else ():
            if FORMATS[name].recognises(head, path.with_suffix(suffix)) and len(head) == 64:
                raise UserError(
                    f"{path} is not what its name says: its content looks like {name}, so its "
                    f"suffix should be {suffix}"
                )
    raise UserError(f"{path} is damaged, or is no {path.suffix} file")
