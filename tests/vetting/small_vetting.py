"""Parameters of vetting as conf/ has them, with changes, and models in the test's own process."""

import shutil
from copy import deepcopy
from functools import cache, reduce

import numpy as np
import onnxruntime
import pytest
from omegaconf import OmegaConf

from asterism.config import compose
from asterism.core.parameters.params import read_params, validate
from asterism.core.running.stage import load_script
from asterism.data.given import GivenInputs
from asterism.dflare.comparisons import build_comparison
from asterism.dflare.pair import ModelPair
from asterism.models.tensor_models.answers import OutputForm
from asterism.vetting.opening import GivenPair, VettingSession, open_vetted
from asterism.vetting.params import VetParams
from places import ROOT


@cache
def _values(kind):
    """What conf/ says of a kind of inputs."""
    files = [ROOT / f"conf/vet/{name}.yaml" for name in ("none", kind)]
    values = OmegaConf.to_container(OmegaConf.merge(*map(OmegaConf.load, files)))
    del values["defaults"]
    return values


def vet_params(kind="tensors", **changes):
    """Parameters of a kind of inputs; a change's key is a path with two underscores for dots."""
    values = deepcopy(_values(kind))
    given = {"original": "f.onnx", "compressed": "g.onnx", "inputs": "inputs.npz"} | changes
    for key, value in given.items():
        *above, last = key.split("__")
        reduce(dict.__getitem__, above, values)[last] = value
    return validate(VetParams, values)


class Rule:
    """A model that is a function of items; it keeps all that it was asked about."""

    def __init__(self, name, function):
        self.name, self.classes, self.asked = name, function(np.zeros((1, 2))).shape[1], []
        self.form = OutputForm({"output": (self.classes,)})
        self._function = function

    def predict(self, items):
        self.asked.append(items)
        return self._function(items).astype(np.float32)


def with_files(work, params, seed, *rest):
    """What a part of vetting finds for the files that parameters name."""
    with open_vetted(params, seed) as vetted:
        return work(vetted, seed, *rest)


def vetted_rules(params, items, f, g, labels=None):
    """A vetted pair of rules."""
    pair = ModelPair(f, g)
    comparison = build_comparison(params.comparison, (f.classes,))
    inputs = GivenInputs(items, labels, (), tuple(map(str, range(len(items)))), (), kind="tensors")
    return VettingSession(
        params=params,
        given=GivenPair.by_files(params),
        inputs=inputs,
        original=f,
        compressed=g,
        pair=pair,
        comparison=comparison,
        notes={},
        answers=pair.ask(items),
    )


def digit_params(folder, compressed="damaged.onnx", **changes):
    """The digits' pair, with few inputs and little search."""
    usual = {
        "original": str(folder / "original.onnx"),
        "compressed": str(folder / compressed),
        "inputs": str(folder / "inputs.npz"),
        "comparison": {"kind": "top_label", "options": {}},
        "limit": 200,
        "changes__inputs": 8,
        "search__seeds": 12,
        "search__queries": 24,
        "search__bound": None,
        "repair__evaluations": 8,
        "repair__inputs": 16,
        "repair__float_share": 0.4,
    }
    return vet_params(**usual | changes)


def run_stages(folder, overrides):
    """Run the stages that vet a pair, in a project that is made in this folder."""
    folder.mkdir(exist_ok=True)
    (folder / "params.yaml").write_text(compose(ROOT / "conf", overrides))
    shutil.copy(ROOT / "dvc.yaml", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("ASTERISM_STATE_ROOT", str(folder / "state"))
        for name in ("vet_measure", "vet_search", "vet_repair", "vet_page"):
            stage = load_script(ROOT / "stages", name)
            stage.run(read_params(stage.Params))
    return folder


def by_runtime(path, **inputs):
    """What ONNX Runtime itself says of a model's first output."""
    return onnxruntime.InferenceSession(path).run(None, inputs)[0]
