"""Parameters of small trainings, and digits to train with."""

from functools import cache

from asterism.data import DataParams, load
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.params import ClassifierParams, TrainedRnn

UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])
TRAINING = {"optimizer": "adam", "learning_rate": 0.005, "batch_size": 32, "epochs": 2}


@cache
def digits(train=300, test=60):
    return load(DataParams(name="digits", path="conf/no_file", train=train, test=test))


def recurrent(cell="lstm", units=(6, 5), trained_by="keras", **training):
    return TrainedRnn(
        source="train",
        path="conf/no_file",
        cell=cell,
        trained_by=trained_by,
        units=list(units),
        training=TRAINING | training,
    )


def classifier(training=(), **changes):
    facts = {"source": "train", "path": "conf/no_file", "weights": "conf/no_file"}
    facts |= {"architecture": "lenet4", "trained_by": "keras", "augment": False}
    facts |= {"learning_rate_drops": [], "learning_rate_decay": 0.0, "precision": "float32"}
    return ClassifierParams(**facts | changes, training=TRAINING | dict(training))
