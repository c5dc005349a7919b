"""The certificate of a vetted pair: hashes, versions, parameters, all numbers, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from asterism.core.files.artifacts import read_json, write_json
from asterism.core.files.records import record_as_json, record_from
from asterism.core.messages.errors import UserError, name_file_in_errors, reading
from asterism.core.parameters.params import validate
from asterism.core.settings.yaml_files import parse_yaml
from asterism.core.statistics import Share
from asterism.vetting.agreement import Agreement
from asterism.vetting.measurement import DeviceFindings
from asterism.vetting.params import VetParams, VetStageParams
from asterism.vetting.symptoms import Symptom
from asterism.vetting.verdict import ThresholdCheck, Verdict, check_thresholds, decide_verdict

#: Libraries whose versions a certificate holds.
_LIBRARIES = ("onnxruntime", "ai-edge-litert", "tensorflow", "numpy", "asterism")


#: Where the stages leave numbers in a project.
_METRICS = tuple(f"metrics/vet_{part}.json" for part in ("measure", "search", "repair"))


@dataclass(frozen=True)
class VettedNumbers:
    """The results of the parts of vetting about a pair, each a JSON value.

    Attributes:
        measured: see :func:`~asterism.vetting.measurement.measure_opened`.
        searches: see :func:`~asterism.vetting.searching.search_opened`.
        repair: see :func:`~asterism.vetting.repairing.repair_opened`.
    """

    measured: dict[str, Any]
    searches: dict[str, Any]
    repair: dict[str, Any]

    @staticmethod
    def read(workspace: Path) -> VettedNumbers:
        """The numbers that the stages, or :meth:`write`, wrote into a project."""
        return VettedNumbers(*(read_json(workspace / metrics) for metrics in _METRICS))

    def write(self, workspace: Path) -> None:
        """Write the numbers into a project, as the stages do."""
        for metrics, value in zip(_METRICS, vars(self).values(), strict=True):
            write_json(workspace / metrics, value)


@dataclass(frozen=True)
class Certificate:
    """All measurements of a pair, and the verdict.

    Attributes:
        verdict: the verdict that follows from the numbers below.
        sha256: of the files that the numbers are about, see :meth:`.GivenPair.hashes`.
        versions: the versions of the libraries that compute, as far as they are installed.
        commands: the commands that repeat it, see :meth:`.VetParams.commands`.
        seed: the seed of everything that is random.
        parameters: as YAML, in their order, which counts for mutators; JSON files here have sorted
            keys.
        measured: agreement and flips.
        searches: a summary for each search.
        repair: what came of it.
    """

    verdict: dict[str, Any]
    sha256: dict[str, str]
    versions: dict[str, str]
    commands: list[str]
    seed: int
    parameters: str
    measured: dict[str, Any]
    searches: dict[str, Any]
    repair: dict[str, Any]

    @property
    def numbers(self) -> VettedNumbers:
        """The numbers that the certificate is about."""
        return VettedNumbers(self.measured, self.searches, self.repair)


def make_certificate(
    params: VetParams, seed: int, numbers: VettedNumbers, sha256: Mapping[str, str]
) -> Certificate:
    """The certificate of a pair.

    Args:
        params: the pair and what was asked.
        seed: the run's seed.
        numbers: what was found.
        sha256: of the pair's files.

    Raises:
        UserError: numbers are missing or of another type.
    """
    return Certificate(
        verdict=record_as_json(compute_verdict(params, numbers)),
        sha256=dict(sha256),
        versions=_versions(),
        commands=params.commands(),
        seed=seed,
        parameters=yaml.safe_dump(params.model_dump(mode="json"), sort_keys=False),
        measured=numbers.measured,
        searches=numbers.searches,
        repair=numbers.repair,
    )


def compute_verdict(params: VetParams, numbers: VettedNumbers) -> Verdict:
    """The verdict that follows from numbers.

    Raises:
        UserError: numbers are missing or of another type.
    """
    measured, repair = numbers.measured, numbers.repair
    with reading("the numbers of vetting"):
        slight = [f for f in measured["flips"] if f["strength"] == params.changes.slight]
        flips = record_from(Share, slight[0]["share"]) if slight else None
        agreement = record_from(Agreement, measured["agreement"])
        symptoms = [record_from(Symptom, value) for value in measured["symptoms"]]
        device = record_from(DeviceFindings, measured["device"])
        criteria = check_thresholds(
            agreement,
            symptoms,
            flips,
            params.thresholds,
            params.confidence,
            unanswered=device.unanswered,
        )
        repaired = None
        if "criteria" in repair and not repair["agreement_fell"] and not repair["slower"]:
            repaired = tuple(record_from(ThresholdCheck, value) for value in repair["criteria"])
        return decide_verdict(criteria, repaired, [*(s.told for s in symptoms), *device.told])


def read_certificate(path: Path) -> tuple[Certificate, VetParams, Verdict]:
    """A certificate in a file, its parameters, and the verdict that follows from its numbers.

    What the file says the verdict is counts for nothing here.

    Raises:
        UserError: the file is missing, or is no certificate: something is missing in it, unknown,
            of another type, or impossible.
    """
    value = read_json(path)
    with name_file_in_errors(path):
        told = record_from(Certificate, value)
        asked = {"seed": told.seed, "vet": parse_yaml(told.parameters, "its parameters")}
        params = validate(VetStageParams, asked, source=str(path), names=True).vet
        if params.source != "files":
            raise UserError("its parameters name no files")
        return told, params, compute_verdict(params, told.numbers)


def explain_repair(certificate: Certificate, verdict: Verdict) -> list[str]:
    """One line on why a repair is not enough or missing, if a model needs one."""
    if verdict.word in ("ship", "ship with the repair"):
        return []
    if certificate.repair.get("slower"):
        return ["no repair: the repaired file is slower than the original"]
    told = "the repair is not enough" if "sha256" in certificate.repair else "no repair"
    reason = certificate.repair.get("reason")
    return [f"{told}: {reason}"] if reason else []


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
