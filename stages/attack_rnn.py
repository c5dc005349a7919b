"""Attack the recurrent network, and tell the attacked inputs from normal ones by their traces."""

from pathlib import Path

from asterism.attacks.augmentation import prefix_facts
from asterism.attacks.methods import AttackParams
from asterism.attacks.recurrent import attack_recurrent
from asterism.core.files.artifacts import write_arrays, write_json, write_table
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.data import DataParams, load_any
from asterism.deepstellar.measurement import measure_sets
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.params import CoverageParams
from asterism.models.recurrent.trained import open_trained
from asterism.models.training.fitting import make_deterministic

NETWORK = Path("artifacts/train_rnn")
ARTIFACTS = Path("artifacts/attack_rnn")


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    data: DataParams
    attack: AttackParams
    coverage: CoverageParams


def run(params: Params) -> None:
    """Write the attacked inputs, their coverage, and how well similarity detects them."""
    make_deterministic(params.seed, "attack_rnn")
    data = load_any(params.data)
    attacked = attack_recurrent(NETWORK, data, params.attack, params.seed)
    measured = measure_sets(
        open_trained(NETWORK),
        TraceModel.load(Path("artifacts/build_dtmc")),
        data,
        {name: found.images for name, found in attacked.items()},
        suspicious=list(attacked),
        references=params.coverage.references,
        seed=params.seed,
    )
    for name, found in attacked.items():
        measured.metrics[name] |= found.summary()
    images = {name: found.images for name, found in attacked.items()}
    write_arrays(ARTIFACTS / "images.npz", **images)
    facts = {name: found.per_input() for name, found in attacked.items()}
    write_arrays(ARTIFACTS / "inputs.npz", **prefix_facts(facts))
    write_json(Path("metrics/attack_rnn.json"), measured.metrics)
    write_table(Path("plots/attack_rnn/roc.csv"), measured.curves)
