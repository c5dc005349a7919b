"""The whole of ``params.yaml``: the sections that the lanes declare, side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import Field, model_validator

from asterism.attacks.methods import AttackParams
from asterism.compression.params import CompressionParams
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import Distinct, ParameterSection, Seed, read_params, validate
from asterism.core.parameters.registry import suggest_closest, unknown
from asterism.core.parameters.validation import Label
from asterism.core.settings.yaml_files import parse_yaml, read_yaml
from asterism.criteria.families import CriteriaParams
from asterism.data import DataParams
from asterism.data.driving import DrivingParams
from asterism.deepimportance.params import ImportanceParams
from asterism.deepstellar.params import (
    AbstractionParams,
    CoverageParams,
    FuzzParams,
    SeedParams,
)
from asterism.dflare.params import PairParams, RepairParams, TriggerParams
from asterism.differential.engine.branch_params import RewardedGenerateParams
from asterism.differential.params import ExecuteParams, JudgeParams, TriageParams
from asterism.differential.reducing.params import ReduceParams
from asterism.dvc_hydra.composition import CompositionError, compose_group, compose_parameters
from asterism.dvc_hydra.lockfile import read_as_dvc
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.params import AnyClassifierParams, RnnParams, TrainingParams
from asterism.vetting.params import VetParams

S = TypeVar("S", bound=ParameterSection)


class SeriesParams(ParameterSection):
    """Numbers of a table that a point of an experiment leaves, for a figure."""

    file: str = Field(description="the CSV file, from the root of the point's workspace")
    column: str = Field(description="the numbers")
    over: str | None = Field(
        default=None, description="the column they are drawn over; null: how often each occurs"
    )
    where: dict[Label, str] = Field(default={}, description="texts that the rows must have")


class EntryCondition(ParameterSection):
    """What a point of an experiment has to reach so that it is compared with the paper at all."""

    metric: str = Field(description="a number of the point, such as train_classifier:test_accuracy")
    at_least: float | None = Field(default=None, description="the least that it may be")
    at_most: float | None = Field(default=None, description="the most that it may be")
    where: dict[Label, str] = Field(
        default={}, description="parameters of the points that this is asked of"
    )

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("at_least or at_most has to be given")
        return self


class ReproduceParams(ParameterSection):
    """How a paper's experiment is run: what its file in ``conf/experiment`` says beside parameters.

    No stage reads it, so that it changes no result.
    """

    targets: Distinct[str] = Field(min_length=1, description="stages to run, with what they need")
    metrics: Distinct[str] = Field(
        min_length=1, description="numbers to record: patterns such as trigger-*:*.mean_queries"
    )
    scales: dict[Label, Distinct[str]] = Field(
        min_length=1,
        description="for each scale the overrides of its sweep, as `asterism sweep` takes them",
    )
    models: Distinct[str] = Field(
        default=[],
        description="published files that it needs: overrides with their names, rnn.path=lstm.h5",
    )
    series: dict[Label, SeriesParams] = Field(
        default={}, description="for figures: numbers of tables, by the names that figures use"
    )
    entry: list[EntryCondition] = Field(
        default=[], description="what points have to reach: those below are recorded, not compared"
    )


class Params(ParameterSection):
    """Every parameter of the pipeline."""

    seed: Seed = Field(description="root of every random stream")
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
    vet: VetParams
    driving_training: TrainingParams
    reduce: ReduceParams
    generate: RewardedGenerateParams
    execute: ExecuteParams
    judge: JudgeParams
    triage: TriageParams
    reproduce: ReproduceParams | None = None

    @model_validator(mode="after")
    def _repair_learns_from_a_search_that_there_is(self) -> Self:
        name, known = self.repair.search, sorted(self.trigger.searches)
        if name not in known:
            raise ValueError(
                f"repair.search is {name!r}{suggest_closest(name, known)} "
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
                        f"{name!r}{suggest_closest(name, known)} (it makes: {', '.join(known)})"
                    )
        return self


def check_params(root: Path) -> None:
    """Reject a ``params.yaml`` with names that DVC must not put into commands and paths.

    DVC puts names there unchecked as soon as it reads ``dvc.yaml``. Stages and DVC parse YAML by
    different libraries, so both must read the same values.

    Args:
        root: the workspace with the file.

    Raises:
        UserError: a parameter is missing, unknown or impossible, or DVC reads another value.
    """
    path = root / "params.yaml"
    params = read_params(Params, path)
    document = read_as_dvc(path)
    known = {key: document[key] for key in Params.model_fields if key in document}
    if validate(Params, known) != params:
        raise UserError(f"DVC reads {path.name} differently: write it with `asterism params`")


def compose(conf: Path, overrides: list[str]) -> str:
    """The text of ``params.yaml`` for Hydra overrides: what ``dvc exp run -S`` writes.

    Args:
        conf: the Hydra config folder.
        overrides: as Hydra takes them, ``["data=mnist", "abstraction.k=4"]``.

    Raises:
        UserError: Hydra rejects an override, or a value or a name is impossible.
    """
    try:
        text = compose_parameters(conf, overrides)
    except CompositionError as error:
        if error.advised:
            compose(conf, error.advised)  # names what is unknown, with the closest there is
        raise UserError(f"conf: {error}") from None
    _require_choices(conf, overrides)
    validate(Params, parse_yaml(text, "conf"), source="conf", names=True)
    return text


def compose_changed_params(schema: type[S], changes: Sequence[str], root: Path = Path()) -> S:
    """The part of ``params.yaml`` that a schema declares, with what Hydra overrides change.

    Edits of the file stay, where the overrides do not change the same values.

    Args:
        schema: see :func:`~asterism.core.parameters.params.read_params`.
        changes: overrides, as ``-S`` takes them: ``["+experiment=library_campaign"]``.
        root: the workspace with the file, and with ``conf/`` where there are changes.

    Raises:
        UserError: a parameter or an override is impossible.
    """
    path = root / "params.yaml"
    if not changes:
        return read_params(schema, path)
    read_params(schema, path)  # what is wrong with the file itself is said of it
    before, after = (
        parse_yaml(compose(root / "conf", overrides), "conf") for overrides in ([], list(changes))
    )
    whole = _with_changes(read_yaml(path), before, after)
    return validate(schema, {key: whole[key] for key in schema.model_fields if key in whole})


def _with_changes(given: Any, before: Any, after: Any) -> Any:
    """A document with what differs between two others."""
    if before == after:
        return given
    if not all(isinstance(one, dict) for one in (given, before, after)):
        return after
    kept = {key: given[key] for key in given if key in after or key not in before}
    return kept | {key: _with_changes(given.get(key), before.get(key), after[key]) for key in after}


def compose_vet_params(conf: Path, overrides: Sequence[str]) -> VetParams:
    """The parameters of vetting that overrides lead to.

    Raises:
        UserError: see :func:`compose`.
    """
    if all(re.match(r"[+~]*vet[=.]", text) for text in overrides):
        with suppress(UserError):  # what all parameters together say of it is plainer
            return validate(
                VetParams, compose_group(conf, "vet", overrides), source="conf: vet", names=True
            )
    return validate(Params, parse_yaml(compose(conf, list(overrides)), str(conf))).vet


def _require_choices(conf: Path, overrides: list[str]) -> None:
    """Reject a choice that there is not, of groups too that may be without one.

    Training settings are such groups: data may have none of their own. Hydra then takes no notice
    of a misspelt choice.
    """
    for override in overrides:
        group, _, choice = override.lstrip("+").partition("=")
        known = sorted(file.stem for file in (conf / group).glob("*.yaml"))
        if "/" in group and known and choice not in known:
            raise unknown(f"choice of {group}", choice, known)
