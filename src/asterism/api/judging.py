"""Judging tests from Python: what a test set exercises of a model of Keras or PyTorch."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.api.inputs import as_given
from asterism.api.models import is_file, is_program, is_torch_module
from asterism.config import changed_params
from asterism.core.files.artifacts import write_json
from asterism.core.messages.console import log_within_a_program
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection, validate
from asterism.core.parameters.registry import unknown
from asterism.core.settings.yaml_files import read_yaml
from asterism.criteria.params import CriteriaParams
from asterism.data.given.reading import Arrays
from asterism.deepimportance.fitting import FittedCriteria, fit
from asterism.deepimportance.judged_model import JudgedModel
from asterism.deepimportance.measurement import AdequacyMeasurement, measure
from asterism.deepimportance.params import ImportanceParams
from asterism.deepimportance.results import save_fitted
from asterism.models.keras_models.preprocessing import PreprocessingParams
from asterism.project import packaged_conf
from asterism.report.base.section import ReportSection
from asterism.report.whole.page import SECTIONS, write_page

if TYPE_CHECKING:
    import polars as pl

#: The report's section that shows the answer.
_SECTION = "importance"


class _Params(ParameterSection):
    """What is read of the parameters."""

    importance: ImportanceParams
    criteria: CriteriaParams


@dataclass(frozen=True, eq=False)
class JudgedTests:
    """What a test set exercises.

    Attributes:
        layer: whose neurons count.
        values: each criterion's value, by its name: importance-driven coverage with ``m`` neurons
            is ``idc_m``.
        combinations: of the important neurons' clusters, by the coverage's name.
        subset: positions of a smallest subset of the tests with the same coverage, by its name.
        verdict: the answer in a sentence.
    """

    layer: str
    values: dict[str, float]
    combinations: dict[str, int]
    subset: dict[str, NDArray[np.int64]]
    verdict: str
    _workspace: tempfile.TemporaryDirectory[str] = field(repr=False)

    def page(self, path: str | Path) -> Path:
        """Write the page: the answer, the important neurons with their clusters, all criteria.

        Args:
            path: the file, ``.html``; one that is there is replaced.
        """
        write_page(Path(self._workspace.name), Path(path), [_SECTION])
        return Path(path)

    def to_frame(self) -> pl.DataFrame:
        """A table of Polars with a row for each criterion."""
        import polars as pl

        columns = {"criterion": list(self.values), "value": list(self.values.values())}
        return pl.DataFrame(columns)

    def _repr_html_(self) -> str:
        from markupsafe import Markup

        row = Markup("<tr><td>{}</td><td>{:.4g}</td></tr>")
        rows = Markup("").join(row.format(name, value) for name, value in self.values.items())
        return str(Markup("<p>{}</p><table>{}</table>").format(self.verdict, rows))


def judge_tests(
    model: Any,
    train: Any,
    test: Any,
    train_labels: Any = None,
    *,
    layer: str | None = None,
    preprocessing: str = "unit",
    overrides: Sequence[str] = (),
) -> JudgedTests:
    """Judge a test set by the neurons that matter most to a model's decisions.

    It is importance-driven coverage (Gerasimou et al., ICSE 2020), with the other criteria beside.

    Args:
        model: a classifier or regressor: a module or an exported program of PyTorch, a model of
            Keras, or the file of either (``.keras``, ``.h5``, ``.pt2``).
        train: training inputs ``(N, …)`` as the model takes them, or pictures, uint8
            ``(N, H, W, C)``; or a data set of such and labels.
        test: test inputs, in the same form.
        train_labels: of the training inputs, integers ``(N,)``; None for those of the data set.
        layer: the subject layer; None for the last hidden one. In PyTorch, a module by its fully
            qualified name, or an activation that is a function by its name in the exported graph.
        preprocessing: a name of ``conf/preprocessing``, which pictures go through.
        overrides: of parameters, ``"importance.neurons=[6]"``.

    Raises:
        UserError: the model is of another kind, relevance has no way to the layer, or the inputs
            do not fit.
    """
    log_within_a_program()
    given, tests = as_given(train, train_labels), as_given(test)
    if not isinstance(given, Arrays) or not isinstance(tests, Arrays):
        raise UserError("inputs are arrays: read the files first")
    root = packaged_conf().parent
    params = changed_params(_Params, overrides, root)
    named = {p.stem: p for p in sorted((root / "conf/preprocessing").glob("*.yaml"))}
    if preprocessing not in named:
        raise unknown("preprocessing", preprocessing, list(named))
    scaled = validate(PreprocessingParams, read_yaml(named[preprocessing]))
    changed = {"layer": layer} if layer is not None else {}
    importance = params.importance.model_copy(update=changed)
    judged = _judged(model, given.items, scaled)
    fitted = fit(judged, given.items, given.labels, importance, params.criteria)
    measured = measure(fitted, tests.items, tests.items[:0], {})
    alone, workspace = measured.metrics["test_set"], tempfile.TemporaryDirectory()
    section = _kept(fitted, measured, params, Path(workspace.name))
    return JudgedTests(
        layer=fitted.subject,
        values={name: float(value) for name, value in alone.items() if name != "inputs"},
        combinations=measured.metrics["combinations"],
        subset={name: found.subset for name, found in measured.exercised.items()},
        verdict=section.answers[0].sentence,
        _workspace=workspace,
    )


def _kept(
    fitted: FittedCriteria, measured: AdequacyMeasurement, params: _Params, workspace: Path
) -> ReportSection:
    """Write results as the lane's stages do, to make the page of; its section."""
    save_fitted(fitted, workspace / "artifacts/measure_importance")
    write_json(workspace / "metrics/measure_importance.json", measured.metrics)
    write_json(workspace / "metrics/attack.json", {})
    shown = {"attack": {"names": []}, **params.model_dump(mode="json")}
    (workspace / "params.yaml").write_text(json.dumps(shown), encoding="utf-8")
    section = SECTIONS[_SECTION](workspace)
    assert section is not None, "its results are there"
    return section


def _judged(model: Any, items: NDArray[Any], preprocessing: PreprocessingParams) -> JudgedModel:
    """A model of any form as one that is judged."""
    path = Path(model) if is_file(model) else None
    if path is not None and path.suffix == ".pt2":
        from asterism.models.foreign.torch_archive import rewritten

        model = rewritten(path).module()
    elif path is not None:
        from asterism.models.keras_models.reading import load_keras

        model = load_keras(path)
    if is_torch_module(model) or is_program(model):
        from asterism.deepimportance.judged_torch import JudgedTorch

        return JudgedTorch(model, items, preprocessing)
    if not hasattr(model, "layers"):
        raise UserError(f"{type(model).__name__} is no model of Keras or PyTorch")
    from asterism.deepimportance.judged_keras import JudgedKeras

    return JudgedKeras(model, preprocessing)
