"""Training the image classifier that the lanes test."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.data import Dataset
from asterism.models.architectures import build_architecture
from asterism.models.classifier import gives_logits, trial_images
from asterism.models.images_and_scores import (
    PreprocessingParams,
    image_shape,
    require_score_for_each,
    require_vector,
)
from asterism.models.keras_models.reading import load_keras
from asterism.models.params import ClassifierFile, ClassifierParams
from asterism.models.training.fitting import (
    compile_for,
    dropped_rate,
    fit_model,
    make_deterministic,
)

if TYPE_CHECKING:
    import keras

log = get_logger(__name__)


def obtain_classifier(
    params: ClassifierParams | ClassifierFile,
    preprocessing: PreprocessingParams,
    data: Dataset,
    seed: int,
    checkpoint: Checkpoint | None = None,
) -> tuple[keras.Model, dict[str, list[float]]]:
    """The user's own classifier, or one trained here; with loss and accuracy by epoch.

    A training by PyTorch resumes from the checkpoint. The classifier gives probabilities: a file
    that ends in logits gets a softmax, and the log says so. The history of a classifier that was
    not trained here is empty.

    Raises:
        UserError: the user's file is no Keras model of a classifier, takes other images than the
            data are, gives NaN for all of them, or has fewer outputs than the data have classes.
    """
    if isinstance(params, ClassifierParams):
        return train_classifier(params, preprocessing, data, seed, checkpoint)
    path, weights = Path(params.path), Path(params.weights)
    if path.suffix == ".json" and weights != path.with_suffix(".h5"):
        raise UserError(
            f"classifier.weights must be {path.with_suffix('.h5')}, the weights of {path}"
        )
    model = load_keras(path)
    _require_that_it_suits(model, data, path)
    return _with_softmax(model, preprocessing, path), {"loss": [], "accuracy": []}


def _with_softmax(
    model: keras.Model, preprocessing: PreprocessingParams, path: Path
) -> keras.Model:
    """The model itself, or with a softmax behind it where its outputs are logits."""
    import keras

    height, width, channels = model.input_shape[1:]
    trials = preprocessing.apply(trial_images((height, width, channels)))
    if not gives_logits(model.predict(trials, verbose=0), path):
        return model
    log.info("its outputs are logits, a softmax was added", model=model.name)
    softmax = keras.layers.Softmax(name="added_softmax")
    return keras.Model(model.inputs, softmax(model.outputs[0]), name=model.name)


def _require_that_it_suits(model: keras.Model, data: Dataset, path: Path) -> None:
    image_shape(model.input_shape, path)
    taken = tuple(model.input_shape[1:])
    if taken != data.image_shape:
        raise UserError(
            f"{path} takes inputs of shape {taken}, but the images are {data.image_shape}"
        )
    require_score_for_each(data.classes, require_vector(model.output_shape, path), path)


def train_classifier(
    params: ClassifierParams,
    preprocessing: PreprocessingParams,
    data: Dataset,
    seed: int,
    checkpoint: Checkpoint | None = None,
) -> tuple[keras.Model, dict[str, list[float]]]:
    """A trained classifier of preprocessed images, and its loss and accuracy by epoch.

    PyTorch trains on the device of ``machine.yaml``, and Keras on the CPU.

    Raises:
        UserError: PyTorch has no such device or optimiser, or the images do not suit the network.
    """
    make_deterministic(seed, "train_classifier")
    model = build_architecture(
        params.architecture, data.image_shape, data.classes, key="classifier.architecture"
    )
    inputs, labels = preprocessing.apply(data.train_images), data.train_labels
    if params.trained_by == "torch":
        from asterism.models.devices import require_device
        from asterism.models.training.torch_fitting import TorchOptions, train_by_torch

        rate, bfloat16 = partial(_learning_rate, params), params.precision == "bfloat16"
        options = TorchOptions(rate, params.augment, bfloat16, checkpoint, require_device())
        return model, train_by_torch(model, inputs, labels, params.training, seed, options)
    trained = _augmented(model) if params.augment else model
    compile_for(trained, params.training)
    schedule = learning_rate_schedule(params, trained)
    history = fit_model(trained, inputs, labels, params.training, callbacks=[schedule])
    return model, {name: history[name] for name in ("loss", "accuracy")}


def _augmented(model: keras.Model) -> keras.Model:
    """The model behind layers that shift and mirror its training images.

    They only work in training, and the model itself, which is what gets saved, lacks them.
    """
    import keras

    return keras.Sequential(
        [
            keras.Input(model.input_shape[1:]),
            keras.layers.RandomFlip("horizontal"),
            keras.layers.RandomTranslation(0.125, 0.125, fill_mode="constant"),
            model,
        ],
        name=model.name,
    )


def learning_rate_schedule(
    params: ClassifierParams, model: keras.Model
) -> keras.callbacks.Callback:
    """Sets the learning rate of a compiled model in training, at every epoch and every step."""
    import keras

    epoch_now = 0

    def begin_epoch(epoch: int, logs: Any = None) -> None:
        nonlocal epoch_now
        epoch_now = epoch
        begin_step(0)

    def begin_step(batch: int, logs: Any = None) -> None:
        taken = int(model.optimizer.iterations)
        model.optimizer.learning_rate = _learning_rate(params, epoch_now, taken)

    steps = {"on_train_batch_begin": begin_step} if params.learning_rate_decay else {}
    return keras.callbacks.LambdaCallback(on_epoch_begin=begin_epoch, **steps)


def _learning_rate(params: ClassifierParams, epoch: int, taken: int) -> float:
    """The learning rate in an epoch, after so many steps of the training."""
    rate = dropped_rate(params.training.learning_rate, params.learning_rate_drops, epoch)
    return rate / (1 + params.learning_rate_decay * taken)
