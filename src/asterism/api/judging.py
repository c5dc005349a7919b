"""Judging tests from Python: what a test set exercises of a model of Keras, PyTorch or ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.api.given import as_arrays, is_file, is_program, is_torch_module, with_classes_of
from asterism.api.lane_results import LaneResult
from asterism.attacks.augmentation import AugmentationSet, InputSplit
from asterism.attacks.methods import AttackParams
from asterism.config import compose_changed_params
from asterism.core.files.artifacts import write_json
from asterism.core.messages.console import log_to_stderr
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection, Seed, validate
from asterism.core.parameters.registry import unknown
from asterism.core.settings import machine
from asterism.core.settings.yaml_files import read_yaml
from asterism.criteria.families import CriteriaParams
from asterism.data.given import ArrayInputs
from asterism.deepimportance.fitting import FittedCriteria, fit_criteria
from asterism.deepimportance.heatmaps import Heatmaps, heatmaps_or_none
from asterism.deepimportance.judged_model import JudgedModel, are_pictures
from asterism.deepimportance.measurement import AdequacyMeasurement, measure_augmented, save_fitted
from asterism.deepimportance.params import ImportanceParams
from asterism.models.formats import note_device
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.signatures.reading import whole_file
from asterism.project import packaged_conf

if TYPE_CHECKING:
    import polars as pl


class _Params(ParameterSection):
    """What is read of the parameters."""

    seed: Seed
    attack: AttackParams
    importance: ImportanceParams
    criteria: CriteriaParams


@dataclass(frozen=True, eq=False, repr=False)
class JudgedTests(LaneResult):
    """What a test set exercises.

    Attributes:
        layer: whose neurons count.
        values: each criterion's value, by its name: importance-driven coverage with ``m`` neurons
            is ``idc_m``. Where relevance cannot pass an operation, and in ONNX files, there is none
            of these.
        combinations: of the important neurons' clusters, by the coverage's name.
        subset: positions among the tests of a smallest subset with the same coverage, by its name.
        added: inputs that were added to the tests, by the attack's name, each with its distance and
            whether the model fails on it; empty without attacks.
    """

    layer: str
    values: dict[str, float]
    combinations: dict[str, int]
    subset: dict[str, NDArray[np.int64]]
    added: dict[str, AugmentationSet]
    notes: tuple[str, ...]
    _fitted: FittedCriteria
    _measured: AdequacyMeasurement
    _heatmaps: Heatmaps | None
    _params: _Params

    _lane = "importance"

    def to_frame(self) -> pl.DataFrame:
        """A table of Polars with a row for each set of inputs and criterion.

        Sets are the test set and, with attacks, all tests and the test set with the inputs of each
        attack; ``clean_mean`` and ``noise_mean`` are what as many other inputs reach. Without IDC,
        a row ``idc`` has no value, and its ``note`` says why.
        """
        import polars as pl

        rows, why = pl.DataFrame(self._measured.rows), self._fitted.left_out
        if why:
            left_out = {"inputs": "test set", "criterion": "idc", "note": f"left out: {why}"}
            rows = pl.concat([rows, pl.DataFrame([left_out])], how="diagonal")
        return rows if self.added else rows.filter(pl.col("inputs") == "test set")

    def _write(self, workspace: Path) -> ParameterSection:
        folder = workspace / "artifacts/measure_importance"
        save_fitted(self._fitted, folder)
        if self._heatmaps is not None:
            self._heatmaps.save(folder)
        write_json(workspace / "metrics/measure_importance.json", self._measured.metrics)
        attacked = {name: added.summary() for name, added in self.added.items()}
        write_json(workspace / "metrics/attack.json", attacked)
        return self._params


def judge_tests(
    model: Any,
    train: Any,
    test: Any,
    train_labels: Any = None,
    test_labels: Any = None,
    *,
    layer: str | None = None,
    preprocessing: str = "unit",
    attacks: Sequence[str] = (),
    overrides: Sequence[str] = (),
) -> JudgedTests:
    """Judge a test set by the neurons that matter most to a model's decisions.

    It is importance-driven coverage (Gerasimou et al., ICSE 2020), with the other criteria beside.
    Where relevance cannot pass an operation behind the layer, and in ONNX files, the other criteria
    judge alone.

    Args:
        model: a classifier or regressor: a module or an exported program of PyTorch, a model of
            Keras, or the file of either (``.keras``, ``.h5``, ``.pt2``); or a file of ONNX.
        train: training inputs ``(N, …)`` as the model takes them, such as tables ``(N, F)``,
            sequences ``(N, T, F)`` and tokens ``(N, T)``, or pictures, uint8 ``(N, H, W, C)``; or a
            data set of such and labels, a file or a folder.
        test: test inputs, in the same form.
        train_labels: of the training inputs, integers ``(N,)``; None for those of the data set.
        test_labels: of the test inputs. Attacks need them, and so does the part of the page that
            shows the relevance of pixels.
        layer: the subject layer; None for the last hidden one. A layer of Keras by its name. In
            PyTorch, a module by its fully qualified name, or an activation that is a function by
            its name in the exported graph. In ONNX, a node by its name or that of its output.
        preprocessing: a name of ``conf/preprocessing``, which pictures go through.
        attacks: names such as ``fgsm``, for pictures; only ``noise`` for ONNX files, which have no
            gradients. A share of the tests (``attack.base_share``) is then the test set that is
            judged; inputs that the attacks make of it are added, and compared with as many of the
            other tests.
        overrides: of parameters, ``"importance.neurons=[6]"``.

    Raises:
        UserError: the model is of another kind, relevance has no way to the layer and no other
            criterion is wanted, it cannot be attacked, or the inputs do not fit.

    Examples:
        >>> import numpy as np
        >>> import torch
        >>> _ = torch.manual_seed(0)
        >>> hidden, last = torch.nn.Linear(5, 12), torch.nn.Linear(12, 3)
        >>> net = torch.nn.Sequential(hidden, torch.nn.ReLU(), last)
        >>> rows = torch.randn(90, 5)
        >>> labels = net(rows).argmax(1)
        >>> few = ["importance.neurons=[2]"]
        >>> found = judge_tests(net, rows[:60], rows[60:], labels[:60], overrides=few)
        >>> found.layer, 0 < found.values["idc_2"] <= 1
        ('1', True)
    """
    log_to_stderr()
    given = as_arrays(train, train_labels)
    tests = with_classes_of(given, as_arrays(test, test_labels))
    root = packaged_conf().parent
    params = compose_changed_params(_Params, overrides, root)
    named = {p.stem: p for p in sorted((root / "conf/preprocessing").glob("*.yaml"))}
    if preprocessing not in named:
        raise unknown("preprocessing", preprocessing, list(named))
    scaled = validate(PreprocessingParams, read_yaml(named[preprocessing]))
    changed = {"layer": layer} if layer is not None else {}
    params = params.model_copy(
        update={
            "importance": params.importance.model_copy(update=changed),
            "attack": params.attack.model_copy(update={"names": list(attacks)}),
        }
    )
    judged, notes = _judged(model, given.items, scaled)
    fitted = fit_criteria(judged, given.items, given.labels, params.importance, params.criteria)
    split, added = _parted(judged, tests, params)
    measured = measure_augmented(fitted, tests.items, split, added, params.importance, params.seed)
    alone = measured.metrics["test_set"]
    return JudgedTests(
        layer=fitted.subject,
        values={name: float(value) for name, value in alone.items() if name != "inputs"},
        combinations=measured.metrics["combinations"],
        subset={name: split.base[found.subset] for name, found in measured.exercised.items()},
        added=added,
        notes=notes,
        _fitted=fitted,
        _measured=measured,
        _heatmaps=_relevance_of_pixels(judged, tests, params),
        _params=params,
    )


def _relevance_of_pixels(
    judged: JudgedModel, tests: ArrayInputs, params: _Params
) -> Heatmaps | None:
    """The relevance of pixels of labelled pictures in grey or colour; None for other inputs."""
    items, labels = tests.items, tests.labels
    shown = are_pictures(items) and items.shape[-1] in (1, 3)
    if not shown or labels is None or not judged.classifies:
        return None
    return heatmaps_or_none(judged, params.importance.relevance, items, labels)


def _parted(
    judged: JudgedModel, tests: ArrayInputs, params: _Params
) -> tuple[InputSplit, dict[str, AugmentationSet]]:
    """The tests that are judged and the others, and what is added to the first."""
    if not params.attack.names:
        every = np.arange(len(tests.items))
        return InputSplit(every, every[:0]), {}
    from asterism.attacks.augmenting import augment_tests

    if tests.labels is None:
        raise UserError(
            "attacks start from inputs that the model classifies correctly: give test_labels"
        )
    judged.require(tests.items)
    network = judged.on_pixels()
    return augment_tests(network, tests.items, tests.labels, params.attack, params.seed)


def _judged(
    model: Any, items: NDArray[Any], preprocessing: PreprocessingParams
) -> tuple[JudgedModel, tuple[str, ...]]:
    """A model of any form as one that is judged, and notes of the device that it runs on."""
    path = Path(model) if is_file(model) else None
    if path is not None and path.suffix == ".pt2":
        from asterism.models.devices import require_device
        from asterism.models.foreign.torch_archive import rewrite_program

        model = rewrite_program(path).module(require_device())
    elif path is not None and path.suffix == ".onnx":
        from asterism.deepimportance.judged_onnx import JudgedOnnx

        with whole_file(path) as whole:
            return JudgedOnnx(whole, items, preprocessing), note_device(machine.device())
    elif path is not None:
        from asterism.models.keras_models.reading import load_keras

        model = load_keras(path)
    if is_torch_module(model) or is_program(model):
        from asterism.deepimportance.judged_torch import JudgedTorch
        from asterism.models.torch_modules import place_of, plain_module

        device, _ = place_of(model)
        return JudgedTorch(plain_module(model), items, preprocessing), note_device(device)
    if not hasattr(model, "layers"):
        raise UserError(f"{type(model).__name__} is no model of Keras or PyTorch")
    from asterism.deepimportance.judged_keras import JudgedKeras

    return JudgedKeras(model, preprocessing, items), ()
