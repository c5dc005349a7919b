"""Judging tests from Python: what a test set exercises of a classifier of Keras."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.api.inputs import as_given
from asterism.api.models import is_file
from asterism.config import changed_params
from asterism.core.messages.console import log_within_a_program
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection, validate
from asterism.core.parameters.registry import unknown
from asterism.core.settings.yaml_files import read_yaml
from asterism.criteria.params import CriteriaParams
from asterism.data.given.reading import Arrays
from asterism.deepimportance.params import ImportanceParams
from asterism.models.keras_models.preprocessing import PreprocessingParams
from asterism.project import packaged_conf

if TYPE_CHECKING:
    import polars as pl


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
    """

    layer: str
    values: dict[str, float]
    combinations: dict[str, int]
    subset: dict[str, NDArray[np.int64]]

    def to_frame(self) -> pl.DataFrame:
        """A table of Polars with a row for each criterion."""
        import polars as pl

        columns = {"criterion": list(self.values), "value": list(self.values.values())}
        return pl.DataFrame(columns)

    def _repr_html_(self) -> str:
        from markupsafe import Markup

        row = Markup("<tr><td>{}</td><td>{:.4g}</td></tr>")
        rows = Markup("").join(row.format(name, value) for name, value in self.values.items())
        return str(Markup("<table>{}</table>").format(rows))


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
    """Judge a test set by the neurons that matter most to a classifier's decisions.

    It is importance-driven coverage (Gerasimou et al., ICSE 2020), with the other criteria beside.

    Args:
        model: a model of Keras, or its file.
        train: training pictures, uint8 ``(N, H, W, C)``, or a data set of pictures and labels.
        test: test pictures.
        train_labels: of the training pictures, integers ``(N,)``; None for those of the data set.
        layer: the subject layer; None for the last hidden one.
        preprocessing: a name of ``conf/preprocessing``.
        overrides: of parameters, ``"importance.neurons=[6]"``.

    Raises:
        UserError: the model is none of Keras, relevance cannot pass a layer, or the pictures do not
            fit.
    """
    log_within_a_program()
    from asterism.deepimportance.fitting import fit
    from asterism.deepimportance.measurement import measure
    from asterism.models.keras_models.reading import load_keras

    if is_file(model):
        model = load_keras(Path(model))
    given, tests = as_given(train, train_labels), as_given(test)
    if not isinstance(given, Arrays) or not isinstance(tests, Arrays):
        raise UserError("pictures are arrays: read the files first")
    if not hasattr(model, "layers"):
        raise UserError(f"{type(model).__name__} is no model of Keras, whose layers are needed")
    root = packaged_conf().parent
    params = changed_params(_Params, overrides, root)
    named = {p.stem: p for p in sorted((root / "conf/preprocessing").glob("*.yaml"))}
    if preprocessing not in named:
        raise unknown("preprocessing", preprocessing, list(named))
    scaled = validate(PreprocessingParams, read_yaml(named[preprocessing]))
    changed = {"layer": layer} if layer is not None else {}
    importance = params.importance.model_copy(update=changed)
    fitted = fit(model, scaled, given.items, given.labels, importance, params.criteria)
    measured = measure(fitted, tests.items, tests.items[:0], {})
    alone = measured.metrics["test_set"]
    return JudgedTests(
        layer=fitted.subject,
        values={name: float(value) for name, value in alone.items() if name != "inputs"},
        combinations=measured.metrics["combinations"],
        subset={name: found.subset for name, found in measured.exercised.items()},
    )
