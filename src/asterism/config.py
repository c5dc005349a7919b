"""The whole of ``params.yaml``: the sections that the lanes declare, side by side."""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml

from asterism.attacks.params import AttackParams
from asterism.compression.params import CompressionParams
from asterism.core.errors import UserError, concerning
from asterism.core.params import Section, Seed, validate
from asterism.criteria.params import CriteriaParams
from asterism.data import DataParams
from asterism.data.driving import DrivingParams
from asterism.deepimportance.params import ImportanceParams
from asterism.deepstellar.params import AbstractionParams, CoverageParams, FuzzParams, SeedParams
from asterism.dflare.params import PairParams, RepairParams, TriggerParams
from asterism.libraries.params import ExecuteParams, JudgeParams, TriageParams
from asterism.memo.params import GenerateParams, ReduceParams
from asterism.models.params import AnyClassifierParams, RnnParams, TrainingParams
from asterism.models.preprocessing import PreprocessingParams


class Params(Section):
    """Every parameter of the pipeline."""

    seed: Seed
    data: DataParams
    rnn: RnnParams
    abstraction: AbstractionParams
    coverage: CoverageParams
    seeds: SeedParams
    fuzz: FuzzParams
    classifier: AnyClassifierParams
    preprocessing: PreprocessingParams
    compression: dict[str, CompressionParams]
    pairs: dict[str, PairParams]
    trigger: TriggerParams
    repair: RepairParams
    attack: AttackParams
    importance: ImportanceParams
    criteria: CriteriaParams
    driving: DrivingParams
    driving_training: TrainingParams
    reduce: ReduceParams
    generate: GenerateParams
    execute: ExecuteParams
    judge: JudgeParams
    triage: TriageParams


def compose(conf: Path, overrides: list[str]) -> str:
    """The text of ``params.yaml`` for Hydra overrides: what ``dvc exp run -S`` writes.

    Args:
        conf: the Hydra config folder.
        overrides: as Hydra takes them, ``["data=mnist", "abstraction.k=4"]``.

    Raises:
        UserError: Hydra refuses an override, or a value or a name is impossible.
    """
    from dvc.utils.hydra import compose_and_dump
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "params.yaml"
        try:
            compose_and_dump(str(target), str(conf.resolve()), None, "config", None, overrides)
        except (HydraException, OmegaConfBaseException) as error:
            raise UserError(f"conf: {str(error).strip().splitlines()[0]}") from None
        text = target.read_text(encoding="utf-8")
    _check_names(validate(Params, yaml.safe_load(text), source="conf"))
    return text


def _check_names(params: Params) -> None:
    """What the sections only name, and the stages make: the data set, and the fuzzer's parts."""
    from asterism.data.dataset import source
    from asterism.deepstellar.fuzzing.breeding import Breeder
    from asterism.deepstellar.fuzzing.selections import strategy

    with concerning("conf"):
        source(params.data)
        Breeder.configured(params.fuzz)
        strategy.configured(params.fuzz.selection)
