"""Draw the correctly classified test inputs that fuzzing begins with."""

from pathlib import Path

import numpy as np

from asterism.core.files.artifacts import write_json
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.data import DataParams, load_any
from asterism.deepstellar.params import SeedParams
from asterism.deepstellar.seeds import SeedInputs, select_seeds
from asterism.models.recurrent.trained import open_trained


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    data: DataParams
    seeds: SeedParams


def run(params: Params) -> None:
    """Write the seeds and how many of each class there are."""
    data = load_any(params.data)
    network = open_trained(Path("artifacts/train_rnn"))
    probabilities, _ = network.run(data.test_images)
    predicted = probabilities.argmax(axis=1)
    inputs = select_seeds(
        predicted, data.test_labels, data.classes, params.seeds.per_class, params.seed
    )
    seeds = SeedInputs(data.test_images[inputs], data.test_labels[inputs], inputs)
    seeds.save(Path("artifacts/select_seeds"))
    metrics = {
        "seeds": len(seeds),
        "available": int(np.count_nonzero(predicted == data.test_labels)),
        "fewest_per_class": int(np.bincount(seeds.labels, minlength=data.classes).min()),
    }
    write_json(Path("metrics/select_seeds.json"), metrics)
