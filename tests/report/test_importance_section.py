"""The importance lane's stages on a tiny project, and its section on what they leave."""

import re

import pytest
import yaml

from asterism.config import compose
from asterism.core.files.artifacts import read_arrays, read_json, read_table, write_json
from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script
from asterism.report.lanes.importance import drawings
from asterism.report.lanes.importance.section import (
    _finding,
    _verdict,
    importance,
)
from places import ROOT
from report.drawings import unfolded

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
    assert set(metrics["augmentations"]) == {"fgsm", "noise", "semantic"}
    assert metrics["test_set"]["inputs"] == 60
    assert metrics["all_tests"]["inputs"] == 120
    for facts in metrics["augmentations"].values():
        assert facts["draws"] == 4
        for m in (4, 8):
            assert facts[f"idc_{m}"]["value"] >= metrics["test_set"][f"idc_{m}"]
    table = read_table(workspace / "plots/measure_importance/coverage.csv")
    assert len(table) == 5 * (9 + 2)
    for idc in ("idc_4", "idc_8"):
        folder = workspace / "artifacts/measure_importance" / idc
        subset = read_arrays(folder / "smallest_subset.npz")
        new = read_arrays(folder / "new_combinations.npz")
        assert len(subset["positions"]) == metrics["smallest_subset"][idc]
        for name, facts in metrics["augmentations"].items():
            assert len(subset[name]) == facts["smallest_subset"][idc]
            count = facts["new_combinations"][idc]["value"]
            assert len(new[f"{name}_inputs"]) == count
            assert new[f"{name}_clusters"].shape == (count, int(idc.removeprefix("idc_")))
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
    control = {"clean_mean": 4, "clean_std": 1, "noise_mean": 6, "noise_std": 0.5}
    augmentations = {
        name: {"idc_6": {"value": value, **control}}
        for name, value in zip(("fgsm", "semantic"), values, strict=True)
    }
    augmentations["noise"] = {"idc_6": {"value": 99, **control}}  # no adversarial input
    assert words in _finding(augmentations, {"idc_6": 1})


def test_one_draw_gives_no_verdict():
    control = {"clean_mean": 4, "clean_std": None, "noise_mean": 6, "noise_std": None}
    augmentations = {"fgsm": {"idc_6": {"value": 9, **control}}}
    assert _verdict(augmentations["fgsm"]["idc_6"]) == "one draw: no verdict"
    assert "too much for two draws" in _finding(augmentations, {"idc_6": 1})


@pytest.mark.parametrize(
    ("value", "verdict"), [(9, "above both"), (8, "above neither"), (7, "above neither")]
)
def test_one_combination_more_than_draws_that_agree_is_nothing(value, verdict):
    total = 6144
    control = {"clean_mean": 7, "clean_std": 0, "noise_mean": 7, "noise_std": 0}
    shares = {name: number / total for name, number in control.items()} | {"value": value / total}
    assert _verdict(shares, 1 / total) == verdict
    assert _verdict(control | {"value": value}, 1) == verdict


@pytest.fixture
def undrawn(drawn):
    """No figure is drawn, which takes most of the time of a section."""
    drawn(drawings)


@pytest.fixture
def changed(workspace, undrawn):
    """Writes another value of a file that the stages left, and puts the old one back."""
    before = {}

    def change(name, edit):
        file = workspace / name
        before.setdefault(file, file.read_text() if file.exists() else None)
        facts = read_json(file) if file.exists() else {}
        edit(facts)
        write_json(file, facts)

    yield change
    for file, text in before.items():
        file.unlink() if text is None else file.write_text(text)


def test_the_class_that_neurons_matter_to_is_named(workspace, changed):
    assert "of class" not in str(importance(workspace).body).split("Important neurons of")[1]
    changed("artifacts/measure_importance/neurons.json", lambda facts: facts.update(target_class=3))
    assert "of class 3: those that matter to it" in str(importance(workspace).body)


def test_what_was_not_measured_is_a_dash(workspace, changed):
    unknown = ("success", "success_rounded", "l2_mean", "linf_mean")
    changed("metrics/attack.json", lambda facts: facts["noise"].update(dict.fromkeys(unknown)))
    row = str(importance(workspace).body).split("<td>Gaussian noise</td>")[1].split("</tr>")[0]
    assert re.findall("<td>(.*?)</td>", row) == ["10", "–", "–", "–", "–"]


def test_sets_and_criteria_are_in_the_order_of_the_parameters(workspace, undrawn):
    params = yaml.safe_load((workspace / "params.yaml").read_text())
    body = str(importance(workspace).body)
    assert re.findall(r"<tr><td>\+ (.*?)</td>", body) == [
        "FGSM",
        "Gaussian noise",
        "natural, most different",
    ]
    table = body.split("<h3>All criteria</h3>")[1].split("</table>")[0]
    rows = re.findall("<tr><td>(.*?)</td>", table)
    assert rows == ["IDC 4", "IDC 8", *(n.replace("_", " ") for n in params["criteria"]["names"])]


def test_neurons_whose_every_combination_is_exercised_prove_nothing(workspace, changed):
    def exercise(*names):
        changed(
            "metrics/measure_importance.json",
            lambda facts: facts["test_set"].update(dict.fromkeys(names, 1.0)),
        )
        return str(importance(workspace).body)

    body = exercise("idc_4")
    assert "of 1 cases" in body
    assert "are left out, since it cannot rise there" in body
    assert "rise of IDC 8 in points by each augmentation" in body
    assert body.count("none is left") == 3
    body = exercise("idc_8")
    assert "Here it cannot rise" in body
    assert "Rise of IDC" not in body
    assert "left out" not in body


def test_what_there_is_to_note_is_shown(workspace, changed):
    assert "Note:" not in str(importance(workspace).body)
    told = {"notes": ["relevance starts elsewhere"]}
    changed("artifacts/measure_importance/neurons.json", lambda facts: facts.update(told))
    assert "Note: relevance starts elsewhere." in str(importance(workspace).body)


def test_one_draw_is_shown_without_a_verdict(workspace, changed):
    def one_draw(facts):
        for held in facts["augmentations"]["fgsm"]["new_combinations"].values():
            held.update(clean_std=None, noise_std=None)

    changed("metrics/measure_importance.json", one_draw)
    row = str(importance(workspace).body).split("<td>+ FGSM</td>")[1].split("</tr>")[0]
    assert row.count("one draw: no verdict") == 2
    assert "±" not in row


def test_the_attacked_recurrent_network_is_shown(workspace, changed):
    attacked = {
        "inputs": 20,
        "success": 0.5,
        "l2_mean": 1.5,
        "linf_mean": 0.29,
        "state_similarity_auroc": 0.81,
        "transition_similarity_auroc": 0.77,
    }
    assert "Attacks on the recurrent network" not in str(importance(workspace).body)
    changed("metrics/attack_rnn.json", lambda facts: facts.update(test={}, bim=attacked))
    section = str(importance(workspace).body).split("Attacks on the recurrent network</h3>")[1]
    cells = re.findall("<td>(.*?)</td>", section)[:7]
    assert cells == ["BIM", "20", "50.0%", "1.50", "0.29", "0.81", "0.77"]


def test_the_regressor_is_shown_where_there_is_one(workspace, undrawn):
    metrics = read_json(workspace / "metrics/measure_importance.json")
    turned = {"inputs": 5, "success": 0.2, "l2_mean": 1.5, "deviation_degrees_mean": 3.25}
    found = {
        "test_mse": 0.01,
        "tolerance_degrees": 2.5,
        "test_set": metrics["test_set"],
        "augmentations": metrics["augmentations"],
        "attacks": {"fgsm": {**turned, "deviation_degrees_max": 7.5}},
    }
    file = workspace / "metrics/measure_driving.json"
    write_json(file, found)
    regressor = str(importance(workspace).body).split("The regressor</h3>")[1]
    assert "7.50°" in regressor
    assert "here 2.5°" in regressor
    assert "test set (60 inputs)" in regressor
    assert re.findall("<tr><td>(.*?)</td>", regressor)[1:4] == ["IDC 4", "IDC 8", "neuron coverage"]
    write_json(file, {})
    assert "°" not in str(importance(workspace).body)


def test_the_section_shows_them(workspace):
    section = importance(workspace)
    body = unfolded(section.body)
    assert body.count("<figcaption>class") == 10
    assert body.count("<svg") == 2
    assert "IDC 8" in body
    assert re.search(
        r"Here it (holds|holds in part|does not hold)\. Adversarial inputs raised", body
    )
    assert body.count("<td>+ ") == 3
    assert not re.search(r'(src|href)="(?!data:|#)', body)
    assert unfolded(importance(workspace).body) == body
