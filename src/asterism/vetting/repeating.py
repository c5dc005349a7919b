"""Repeating a certificate: checking that everything in it can be measured again."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.folders import is_path_inside
from asterism.core.files.hashes import hash_path
from asterism.core.files.records import record_as_json
from asterism.core.messages.errors import UserError, name_file_in_errors, shorten_line
from asterism.core.messages.escaping import printable
from asterism.vetting.certificate import (
    Certificate,
    VettedNumbers,
    compute_verdict,
    make_certificate,
    read_certificate,
)
from asterism.vetting.measurement import measure_opened
from asterism.vetting.opening import GivenPair, VettingSession, open_vetted
from asterism.vetting.params import REPAIRED, REPAIRED_PROGRAM, VetParams
from asterism.vetting.repairing import repair_opened
from asterism.vetting.searching import search_opened
from asterism.vetting.verdict import Verdict

#: Relative difference of real numbers that rounding on another processor may make.
_TOLERANCE = 1e-3
#: The same where they are computed from equal numbers.
_LAST_DIGITS = 1e-9
#: Characters of a value that a line quotes.
_QUOTED = 200


class _Missing:
    """Stands for a value that is not there."""

    def __str__(self) -> str:
        return "nothing"


_MISSING = _Missing()


@dataclass(frozen=True)
class RepeatedCertificate:
    """The result of repeating a certificate.

    Attributes:
        differences: one line for each value that differs; none where the certificate holds.
        verdict: by what was measured now; None where the files are other ones, so that nothing was.
    """

    differences: list[str]
    verdict: Verdict | None

    @property
    def holds(self) -> bool:
        """Whether no number differs."""
        return not self.differences


def measure_pair(vetted: VettingSession, seed: int, folder: Path) -> VettedNumbers:
    """Measure, search and repair an open pair, and write into a folder what the stages write.

    Args:
        vetted: the pair.
        seed: decides on all that is random.
        folder: gets the stages' folders ``vet_measure``, ``vet_search`` and ``vet_repair``.
    """
    found = folder / "vet_search"
    return VettedNumbers(
        measure_opened(vetted, seed, folder / "vet_measure"),
        search_opened(vetted, seed, found),
        repair_opened(vetted, seed, found / "triggers.npz", folder / "vet_repair"),
    )


def repeat_certificate(path: Path, named: Mapping[str, Path]) -> RepeatedCertificate:
    """Measure, search and repair again, and compare with everything that a certificate says.

    Args:
        path: ``certificate.json``.
        named: the pair's files that the user names: ``original``, ``compressed``, ``inputs`` and
            ``labels``. For others the certificate's own paths count, where they lead to files in
            its project (where it lies in none: its folder).

    Raises:
        UserError: the certificate is damaged, it names files elsewhere that the user has not named,
            or a file is missing.
    """
    certificate, params, _ = read_certificate(path)
    here = params.model_copy(update=_files(path, params, named))
    hashes = GivenPair.by_files(here).hashes(here.label_file)
    changed = [
        f"{name}: {getattr(here, name)} is another file than the certificate is about"
        for name, numbers in hashes.items()
        if numbers != certificate.sha256.get(name)
    ]
    if changed:
        return RepeatedCertificate(changed, None)
    seed = certificate.seed
    with (
        name_file_in_errors(path),
        tempfile.TemporaryDirectory() as name,
        open_vetted(here, seed) as vetted,
    ):
        numbers = measure_pair(vetted, seed, Path(name))
    now = make_certificate(params, seed, numbers, hashes)
    # What else a certificate says follows from its own numbers, to the letter.
    own = make_certificate(params, seed, certificate.numbers, hashes)
    lines = [
        *_differences(record_as_json(certificate), record_as_json(own), _LAST_DIGITS),
        *_differences(_numbers(certificate), _numbers(now), _TOLERANCE),
        *_file_beside(path, certificate),
    ]
    return RepeatedCertificate(list(dict.fromkeys(lines)), compute_verdict(params, numbers))


def _files(path: Path, params: VetParams, named: Mapping[str, Path]) -> dict[str, str]:
    """Where the pair's files are, by the parameters' names."""
    own = {name: getattr(params, name) for name in ("original", "compressed", "inputs")}
    own |= {} if params.label_file is None else {"labels": params.labels}
    for name in named.keys() - own.keys():
        raise UserError(f"{path} is about inputs without a file of {name}: leave --{name} out")
    folders = path.resolve().parents
    project = next((folder for folder in folders if (folder / "dvc.yaml").exists()), folders[0])
    rest = {name: project / place for name, place in own.items() if name not in named}
    if elsewhere := {
        name: place for name, place in rest.items() if not is_path_inside(project, place)
    }:
        told = ", ".join(
            f"{name}: {shorten_line(str(p), _QUOTED)}" for name, p in elsewhere.items()
        )
        raise UserError(
            f"{path} names files outside of {project} ({told}). To take these, name them yourself: "
            "`asterism vet ORIGINAL COMPRESSED --inputs INPUTS --labels LABELS --check FILE`"
        )
    return {name: str(place) for name, place in (rest | dict(named)).items()}


def _numbers(certificate: Certificate) -> Any:
    """What is measured, and the verdict but for its sentences, which quote rounded numbers."""
    verdict = {k: v for k, v in certificate.verdict.items() if k != "reasons"}
    repair = dict(certificate.repair)
    if "slower" in repair:  # which tells of the machine
        repair["slower"] = type(repair["slower"]).__name__
    numbers = {"measured": certificate.measured, "searches": certificate.searches, "repair": repair}
    return json.loads(json.dumps(numbers | {"verdict": verdict}))  # types as in a file


def _file_beside(path: Path, certificate: Certificate) -> Iterator[str]:
    """Whether the repaired file that lies beside a certificate is the one that it is about."""
    for beside in map(path.with_name, (REPAIRED, REPAIRED_PROGRAM)):
        if beside.exists() and hash_path(beside) != certificate.repair.get("sha256"):
            yield f"{beside} is another file than the certificate is about"


def _differences(saved: Any, repeated: Any, tolerance: float, place: str = "") -> Iterator[str]:
    """Where two JSON values differ, real numbers by more than a share of the larger one."""
    if isinstance(saved, dict) and isinstance(repeated, dict):
        for key in sorted(saved.keys() | repeated.keys()):
            both = saved.get(key, _MISSING), repeated.get(key, _MISSING)
            yield from _differences(*both, tolerance, f"{place}{key}.")
    elif isinstance(saved, list) and isinstance(repeated, list) and len(saved) == len(repeated):
        for number, (one, other) in enumerate(zip(saved, repeated, strict=True)):
            yield from _differences(one, other, tolerance, f"{place}{number}.")
    elif not _alike(saved, repeated, tolerance):
        quoted = (shorten_line(printable(str(value)), _QUOTED) for value in (saved, repeated))
        yield "{}: {} in the certificate, {} now".format(printable(place[:-1]), *quoted)


def _alike(saved: Any, repeated: Any, tolerance: float) -> bool:
    if type(saved) is not type(repeated):
        return False
    if isinstance(saved, float):
        return math.isclose(saved, repeated, rel_tol=tolerance, abs_tol=0.0)
    return bool(saved == repeated)
