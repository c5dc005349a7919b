"""Vetting a compressed model from Python: one call, whose result holds what its page says."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.api.given import (
    as_arrays,
    as_input_data,
    as_subject_pair,
    in_python,
    is_file,
)
from asterism.asking.question import resolve_question
from asterism.asking.request import VetRequest
from asterism.core.files.artifacts import read_arrays
from asterism.core.files.records import record_from
from asterism.core.messages.console import log_to_stderr
from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons import Comparison
from asterism.project import packaged_conf
from asterism.report.vetted.page import write_vet_page
from asterism.vetting.agreement import Agreement
from asterism.vetting.certificate import compute_verdict, explain_repair, make_certificate
from asterism.vetting.measurement import FlipCounts
from asterism.vetting.opening import open_vetted
from asterism.vetting.params import CERTIFICATE, VetParams
from asterism.vetting.repeating import measure_pair
from asterism.vetting.verdict import ThresholdCheck, Word

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class Vetting:
    """What came of vetting a compressed model.

    Attributes:
        verdict: ``ship``, ``ship with the repair``, ``do not ship``, or
            ``not enough inputs to say``.
        reasons: one sentence each, the deciding ones first.
        criteria: each threshold beside the share that was measured.
        agreement: of both models on the given inputs.
        flips: how often inputs flip under natural changes.
        searches: of each search, its name and how often it found a triggering input.
        repair: figures of the repair; ``reason`` says why there is none.
        settled: what was left open and settled by looking at the models, with reasons.
        parameters: all that was asked.
        original: the original's answers to the given inputs, float32 ``(N, K)``.
        compressed: those of the compressed model.
        differs: on which inputs they deviate, bool ``(N,)``.
        labels: int64 ``(N,)``; None without labels.
        names: of the inputs.
        triggers: triggering inputs, the most consequential first, ``(n, ...)``.
        references: what each of them was made of, ``(n, ...)``.
    """

    verdict: Word
    reasons: tuple[str, ...]
    criteria: tuple[ThresholdCheck, ...]
    agreement: Agreement
    flips: tuple[FlipCounts, ...]
    searches: Mapping[str, Any]
    repair: Mapping[str, Any]
    settled: tuple[str, ...]
    parameters: VetParams
    original: NDArray[np.float32]
    compressed: NDArray[np.float32]
    differs: NDArray[np.bool_]
    labels: NDArray[np.int64] | None
    names: tuple[str, ...]
    triggers: NDArray[Any]
    references: NDArray[Any]
    _runtimes: tuple[Any, ...]
    _comparison: Comparison
    _seed: int
    _sha256: Mapping[str, str]
    _workspace: tempfile.TemporaryDirectory[str] = field(repr=False)

    @property
    def repaired(self) -> Any:
        """The compressed module with those in float that the repair names; None without a repair.

        Only of modules of PyTorch, with weights of both; of files, :meth:`page` writes the file.
        """
        if "kept_in_float" not in self.repair or "sha256" in self.repair:
            return None
        from asterism.vetting.quantised_graphs import choose_part_exchange

        pair = choose_part_exchange(*(runtime.plain for runtime in self._runtimes))
        return pair.in_float(self.repair["kept_in_float"], self.repair["with_finer_scales"])

    @property
    def agree(self) -> float:
        """The share of the given inputs that both models answer alike."""
        return self.agreement.differ.rest.share

    def page(self, path: str | Path) -> Path:
        """Write the page, the certificate and, where there is one, the repaired file.

        Args:
            path: a folder for them. One that holds an earlier page is replaced.

        Returns:
            The page, ``index.html`` in the folder.

        Raises:
            UserError: the folder holds something else.
        """
        folder = Path(path)
        if folder.exists() and not (folder / CERTIFICATE).is_file() and any(folder.iterdir()):
            raise UserError(f"{folder} holds other files than a page: give a new folder")
        workspace = Path(self._workspace.name)
        write_vet_page(self.parameters, self._seed, workspace, folder, self._sha256)
        return folder / "index.html"

    def to_frame(self) -> pl.DataFrame:
        """A table of Polars with a row for each given input.

        Columns are ``name``, ``label``, ``differs``, ``distance`` of both answers in the unit of
        the comparison, and the class that each model answers, ``original`` and ``compressed``.
        What there is none of is null.
        """
        import polars as pl

        columns = {
            "name": list(self.names),
            "label": self.labels,
            "differs": self.differs,
            "distance": self._comparison.distance(self.original, self.compressed),
            "original": self._comparison.classes(self.original),
            "compressed": self._comparison.classes(self.compressed),
        }
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        return "\n".join([f"verdict: {self.verdict}", *(f"  {reason}" for reason in self.reasons)])

    def _repr_html_(self) -> str:
        """The verdict and its reasons, for a notebook."""
        from markupsafe import Markup

        told = Markup("<li>{}</li>")
        reasons = Markup("").join(told.format(reason) for reason in self.reasons)
        return str(
            Markup("<p><b>{}</b></p><ul>{}</ul>").format(f"Verdict: {self.verdict}", reasons)
        )


def vet(
    original: Any,
    compressed: Any,
    inputs: Any,
    labels: Any = None,
    *,
    kind: str | None = None,
    comparison: str | None = None,
    options: Mapping[str, Any] | None = None,
    preprocessing: str | None = None,
    constants: Mapping[str, float | str] | None = None,
    minutes: float | None = None,
    seed: int = 0,
    overrides: Sequence[str] = (),
) -> Vetting:
    """Vet a compressed model: how often it differs from its original, where, and what to do.

    It runs in the caller's process, without a project; files run in processes of their own. What
    is left open is settled by a look at the models, as the command ``asterism vet`` does.

    Args:
        original: a file; a module (also a compiled or a quantised one) or an exported program of
            PyTorch; a model of Keras; or a function of an array whose first axis counts the
            inputs.
        compressed: its compressed version, of any of these forms.
        inputs: an array or tensor ``(N, ...)``, a data set or a loader of PyTorch, a file or a
            folder.
        labels: integers or names ``(N,)``; with files a JSON file of them.
        kind: ``images``, ``sound``, ``tokens``, ``bytes`` or ``tensors``; None to guess.
        comparison: how outputs are compared, such as ``top_label``; None to guess.
        options: of the comparison.
        preprocessing: of images, a name of ``conf/preprocessing``.
        constants: values of further inputs by their names: numbers, or what they are to the
            tokens (``"mask"``, ``"segment"``, ``"position"``, ``"length"``).
        minutes: that the answer may take; None for 5.
        seed: of everything that is random.
        overrides: of further parameters, ``"vet.thresholds.agreement=0.99"``.

    Returns:
        The verdict, all numbers, and the page that says them.

    Raises:
        UserError: a model or inputs cannot be used, or it is not known how to compare; one line
            says what to give.

    Examples:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> weights = rng.normal(size=(8, 3))
        >>> few = ["vet.changes.inputs=20", "vet.search.seeds=4", "vet.search.queries=20"]
        >>> result = vet(
        ...     lambda x: x @ weights,
        ...     lambda x: x @ weights.round(1),
        ...     rng.normal(size=(60, 8)),
        ...     comparison="top_label",
        ...     overrides=few,
        ... )
        >>> result.agreement.differ.total
        60
    """
    log_to_stderr()
    with ExitStack() as after:
        files = is_file(original) and is_file(compressed)
        given = as_input_data(inputs, labels) if files else as_arrays(inputs, labels, kind)
        pair = as_subject_pair(original, compressed, given, after)
        request = VetRequest(
            original=pair[0],
            compressed=pair[1],
            inputs=given,
            kind=kind,
            comparison=comparison,
            options=options,
            labels=Path(labels) if isinstance(given, Path) and labels is not None else None,
            preprocessing=preprocessing,
            constants=[f"{name}={value}" for name, value in (constants or {}).items()],
            minutes=minutes,
            overrides=overrides,
        )
        try:
            return _vetted(request, seed)
        except UserError as error:
            raise UserError(in_python(str(error))) from error.__cause__


def _vetted(request: VetRequest, seed: int) -> Vetting:
    """Settle a request, and do what the stages of vetting do, beside models that stay open."""
    conf = packaged_conf()
    settled = resolve_question(request, conf)
    params, given = settled.params, request.given
    workspace = tempfile.TemporaryDirectory(prefix="asterism-vetting-")
    folder = Path(workspace.name)
    with open_vetted(params, seed, given) as vetted:
        found = measure_pair(vetted, seed, folder / "artifacts")
        inputs, answers, differs = vetted.inputs, vetted.answers, vetted.deviates
        comparison = vetted.comparison
    found.write(folder)
    triggers = read_arrays(folder / "artifacts/vet_search/triggers.npz")
    sha256 = given.hashes(request.labels)
    certificate = make_certificate(params, seed, found, sha256)
    verdict = compute_verdict(params, found)
    return Vetting(
        verdict=verdict.word,
        reasons=(*verdict.reasons, *explain_repair(certificate, verdict)),
        criteria=verdict.criteria,
        agreement=record_from(Agreement, found.measured["agreement"]),
        flips=tuple(record_from(FlipCounts, flips) for flips in found.measured["flips"]),
        searches=found.searches,
        repair=found.repair,
        settled=tuple(map(in_python, settled.said)),
        parameters=params,
        original=answers.f,
        compressed=answers.g,
        differs=differs,
        labels=inputs.labels,
        names=inputs.names,
        triggers=triggers["items"],
        references=triggers.get("references", triggers["items"]),
        _runtimes=tuple(getattr(subject, "runtime", None) for subject in given.subjects),
        _comparison=comparison,
        _seed=seed,
        _sha256=sha256,
        _workspace=workspace,
    )
