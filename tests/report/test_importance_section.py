"""The importance lane's stages on a tiny project, and its section on what they leave."""

import re

import pytest

from asterism.config import compose
from asterism.core.artifacts import read_arrays, read_json, read_table
from asterism.core.params import read_params
from asterism.core.stage import _load
from asterism.report.sections.importance import importance
from conftest import ROOT

TINY = [
    "data.train=400",
    "data.test=120",
    "classifier=lenet1",
    "classifier.training.epochs=3",
    "attack.names=[fgsm,noise]",
    "attack.inputs=10",
    "importance.neurons=[4,8]",
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("importance")
    (folder / "params.yaml").write_text(compose(ROOT / "conf", TINY))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("train_classifier", "attack", "measure_importance"):
            stage = _load(ROOT / "stages", name)
            stage.run(read_params(stage.Params))
    return folder


def test_the_stages_leave_what_they_promise(workspace):
    metrics = read_json(workspace / "metrics/measure_importance.json")
    assert set(metrics["additions"]) == {"fgsm", "noise", "semantic"}
    assert metrics["test_set"]["inputs"] == 60
    for facts in metrics["additions"].values():
        assert facts["draws"] == 5
        for m in (4, 8):
            assert facts[f"idc_{m}"]["value"] >= metrics["test_set"][f"idc_{m}"]
    table = read_table(workspace / "plots/measure_importance/coverage.csv")
    assert len(table) == 4 * (9 + 2)
    subset = read_arrays(workspace / "artifacts/measure_importance/smallest_subset.npz")
    assert len(subset["positions"]) == metrics["smallest_subset"]["idc_8"]
    assert read_json(workspace / "metrics/attack.json")["fgsm"]["linf_mean"] <= 0.3 + 1e-6


def test_the_section_shows_them(workspace):
    section = importance(workspace)
    body = str(section.body)
    assert body.count("<figcaption>class") == 10
    assert body.count("<svg") == 2
    assert "IDC 8" in body
    assert re.search(r"raise(d)? it more than as many other clean inputs", body)
    assert not re.search(r'(src|href)="(?!data:|#)', body)
    assert str(importance(workspace).body) == body
