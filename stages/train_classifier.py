"""Train the image classifier that two lanes test, or take the user's own."""

from pathlib import Path

import numpy as np

from asterism.core.files.artifacts import write_json, write_table
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.resuming.work_units import stage_run
from asterism.core.settings import machine
from asterism.data import DataParams, load
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.keras_models.reading import save_keras
from asterism.models.params import AnyClassifierParams, ClassifierParams
from asterism.models.training.image_classifier import obtain_classifier


class Params(ParameterSection):
    """What this stage reads of ``params.yaml``."""

    seed: Seed
    data: DataParams
    classifier: AnyClassifierParams
    preprocessing: PreprocessingParams


def run(params: Params) -> None:
    """Train, measure on the test set, save."""
    state = stage_run("train_classifier", params.model_dump(mode="json"), [Path(params.data.path)])
    with state.in_use():
        train(params, Checkpoint(state.checkpoint("training")))
    state.remove()


def train(params: Params, checkpoint: Checkpoint) -> None:
    """Write all outputs; a training that takes long resumes from the checkpoint."""
    data = load(params.data)
    model, history = obtain_classifier(
        params.classifier, params.preprocessing, data, params.seed, checkpoint
    )
    predicted = model.predict(params.preprocessing.apply(data.test_images), verbose=0).argmax(
        axis=1
    )

    save_keras(model, Path("artifacts/train_classifier/model.keras"))
    epochs = np.arange(1, len(history["loss"]) + 1)
    write_table(Path("plots/train_classifier/history.csv"), {"epoch": epochs, **history})
    metrics: dict[str, float | int | str] = {
        "test_accuracy": float((predicted == data.test_labels).mean()),
        "parameters": int(model.count_params()),
    }
    classifier = params.classifier
    if isinstance(classifier, ClassifierParams) and classifier.trained_by == "torch":
        metrics |= machine.other_device()
    write_json(Path("metrics/train_classifier.json"), metrics)
