"""The importance lane's stages on a tiny project, and its section on what they leave."""

import re

import pytest

from asterism.config import compose
from asterism.core.artifacts import read_arrays, read_json, read_table, write_json
from asterism.core.params import read_params
from asterism.core.stage import load_script
from asterism.report.sections.importance import _finding, importance
from places import ROOT

TINY = [
    "data.train=300",
    "data.test=120",
    "classifier=lenet1",
    "classifier.training.epochs=2",
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
            stage = load_script(ROOT / "stages", name)
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


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((9, 9), "Here it holds. Adversarial inputs raised it more than both controls in 1 of 1"),
        ((9, 4), "Here it holds in part."),
        ((4, 4), "Here it does not hold."),
    ],
)
def test_the_finding_is_what_the_controls_say(values, words):
    control = {"clean_mean": 4, "clean_std": 1, "perturbed_mean": 6, "perturbed_std": 0.5}
    additions = {
        name: {"idc_6": {"value": value, **control}}
        for name, value in zip(("fgsm", "semantic"), values, strict=True)
    }
    additions["noise"] = {"idc_6": {"value": 99, **control}}  # no adversarial input
    assert words in _finding(additions, ["idc_6"])


def test_the_regressor_is_shown_where_there_is_one(workspace):
    metrics = read_json(workspace / "metrics/measure_importance.json")
    turned = {"inputs": 5, "success": 0.2, "l2_mean": 1.5, "deviation_degrees_mean": 3.25}
    found = {
        "test_mse": 0.01,
        "test_set": metrics["test_set"],
        "additions": metrics["additions"],
        "attacks": {"fgsm": {**turned, "deviation_degrees_max": 7.5}},
    }
    file = workspace / "metrics/measure_driving.json"
    write_json(file, found)
    assert "7.50°" in str(importance(workspace).body)
    write_json(file, {})
    assert "°" not in str(importance(workspace).body)


def test_the_section_shows_them(workspace):
    section = importance(workspace)
    body = str(section.body)
    assert body.count("<figcaption>class") == 10
    assert body.count("<svg") == 2
    assert "IDC 8" in body
    assert re.search(
        r"Here it (holds|holds in part|does not hold)\. Adversarial inputs raised", body
    )
    assert body.count("<td>+ ") == 3
    assert not re.search(r'(src|href)="(?!data:|#)', body)
    assert str(importance(workspace).body) == body
