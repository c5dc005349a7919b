"""The whole of ``params.yaml``: the sections that the lanes declare, side by side."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Self

from pydantic import model_validator

from asterism.attacks.params import AttackParams
from asterism.compression.params import CompressionParams
from asterism.core.errors import UserError
from asterism.core.labels import Label
from asterism.core.params import Section, Seed, read_params, validate
from asterism.core.registry import closest
from asterism.core.yaml_files import parse_yaml
from asterism.criteria.params import CriteriaParams
from asterism.data import DataParams
from asterism.data.driving import DrivingParams
from asterism.deepimportance.params import ImportanceParams
from asterism.deepstellar.params import AbstractionParams, CoverageParams, FuzzParams, SeedParams
from asterism.dflare.params import PairParams, RepairParams, TriggerParams
from asterism.hydra_messages import as_one_line, with_advice_taken
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.running.branch_params import RewardedGenerateParams
from asterism.libraries.running.params import ExecuteParams
from asterism.libraries.triage.params import TriageParams
from asterism.memo.reducing.params import ReduceParams
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
    compression: dict[Label, CompressionParams]
    pairs: dict[Label, PairParams]
    trigger: TriggerParams
    repair: RepairParams
    attack: AttackParams
    importance: ImportanceParams
    criteria: CriteriaParams
    driving: DrivingParams
    driving_training: TrainingParams
    reduce: ReduceParams
    generate: RewardedGenerateParams
    execute: ExecuteParams
    judge: JudgeParams
    triage: TriageParams

    @model_validator(mode="after")
    def _repair_learns_from_a_search_that_there_is(self) -> Self:
        name, known = self.repair.search, sorted(self.trigger.searches)
        if name not in known:
            raise ValueError(
                f"repair.search is {name!r}{closest(name, known)} "
                f"(trigger.searches has: {', '.join(known)})"
            )
        return self

    @model_validator(mode="after")
    def _pairs_take_compressed_models_that_are_made(self) -> Self:
        known = sorted(self.compression)
        for key, pair in self.pairs.items():
            match Path(pair.compressed).parts:
                case ("artifacts", "compress", name, *_) if name not in known:
                    raise ValueError(
                        f"pairs.{key}.compressed is {pair.compressed}, but compression makes no "
                        f"{name!r}{closest(name, known)} (it makes: {', '.join(known)})"
                    )
        return self


def check_params(root: Path) -> None:
    """Refuse a ``params.yaml`` with names that DVC must not put into commands and paths.

    DVC puts names there unchecked as soon as it reads ``dvc.yaml``. Stages and DVC parse YAML by
    different libraries, so both must read the same values.

    Args:
        root: the workspace with the file.

    Raises:
        UserError: a parameter is missing, unknown or impossible, or DVC reads another value.
    """
    from dvc.exceptions import DvcException
    from dvc.utils.serialize import load_yaml

    path = root / "params.yaml"
    params = read_params(Params, path)
    try:
        document = load_yaml(str(path))
    except (DvcException, RecursionError) as error:
        raise UserError(f"DVC cannot read {path.name}: {error}") from None
    known = {key: document[key] for key in Params.model_fields if key in document}
    if validate(Params, known) != params:
        raise UserError(f"DVC reads other values in {path.name}: write it with `asterism params`")


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
            if appended := with_advice_taken(error, overrides):
                compose(conf, appended)  # names what is unknown, with the closest there is
            raise UserError(f"conf: {as_one_line(error)}") from None
        except ValueError as error:  # Hydra's answer to a group that is set to null or a number
            raise UserError(f"conf: {' '.join(overrides)}: {error}") from None
        text = target.read_text(encoding="utf-8")
    validate(Params, parse_yaml(text, "conf"), source="conf", names=True)
    return text
