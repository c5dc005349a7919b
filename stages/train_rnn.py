"""Train the recurrent network, or take the user's own (``rnn=file``)."""

from pathlib import Path

from asterism.core.files.artifacts import write_json, write_table
from asterism.core.messages.console import get_logger
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.data import DataParams, load_any
from asterism.models.params import RnnFile, RnnParams
from asterism.models.recurrent.trained import save_trained, store_file
from asterism.models.training.recurrent import rnn_accuracy, train_rnn

log = get_logger("asterism.stages.train_rnn")

ARTIFACTS = Path("artifacts/train_rnn")


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    data: DataParams
    rnn: RnnParams


def run(params: Params) -> None:
    """Write the network, its accuracy and the course of its training."""
    data = load_any(params.data)
    history: list[float] = []
    if isinstance(params.rnn, RnnFile):
        network = store_file(params.rnn, data.classes, ARTIFACTS)
    else:
        model, history = train_rnn(params.rnn, data, params.seed)
        network = save_trained(model, ARTIFACTS)
    metrics = {
        "train_accuracy": rnn_accuracy(network, data.train_images, data.train_labels),
        "test_accuracy": rnn_accuracy(network, data.test_images, data.test_labels),
    }
    write_json(Path("metrics/train_rnn.json"), metrics)
    epochs = {"epoch": range(1, len(history) + 1), "accuracy": history}
    write_table(Path("plots/train_rnn/history.csv"), epochs)
    log.info("the network is ready", **metrics)
