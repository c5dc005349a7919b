"""Measure what test set, seeds, queues and crashes exercise, and tell crashes by their traces."""

from pathlib import Path

from asterism.core.files.artifacts import write_json, write_table
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.data import DataParams, load_any
from asterism.deepstellar.fuzzing.results import Corpus
from asterism.deepstellar.measurement import CoverageMeasurement, measure_sets
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.params import CoverageParams, FuzzParams
from asterism.deepstellar.seeds import SeedInputs
from asterism.models.recurrent.trained import open_trained


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    data: DataParams
    fuzz: FuzzParams
    coverage: CoverageParams


def run(params: Params) -> None:
    """Write metrics by set, and the ROC curves of telling crashes from normal inputs."""
    sets = {"seeds": SeedInputs.load(Path("artifacts/select_seeds")).images}
    for criterion in params.fuzz.criteria:
        for kind in ("queue", "crashes"):
            found = Corpus.load(Path("artifacts/fuzz") / criterion, kind)
            sets[f"{criterion}_{kind}"] = found.images
    measured: CoverageMeasurement = measure_sets(
        open_trained(Path("artifacts/train_rnn")),
        TraceModel.load(Path("artifacts/build_dtmc")),
        load_any(params.data),
        sets,
        suspicious=[name for name in sets if name.endswith("_crashes")],
        references=params.coverage.references,
        seed=params.seed,
    )
    write_json(Path("metrics/measure_coverage.json"), measured.metrics)
    write_table(Path("plots/measure_coverage/roc.csv"), measured.curves)
