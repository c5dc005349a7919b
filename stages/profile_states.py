"""Record the hidden state of every step for the correctly classified training inputs."""

from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.parameters.params import ParameterSection
from asterism.data import DataParams, load_any
from asterism.deepstellar.model.profile import profile_states
from asterism.models.recurrent.trained import open_trained


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    data: DataParams


def run(params: Params) -> None:
    """Stream the states to disk."""
    data = load_any(params.data)
    network = open_trained(Path("artifacts/train_rnn"))
    profiled = profile_states(
        network, data.train_images, data.train_labels, Path("artifacts/profile_states")
    )
    metrics = {"inputs": len(data.train_images), "profiled": profiled}
    write_json(Path("metrics/profile_states.json"), metrics)
