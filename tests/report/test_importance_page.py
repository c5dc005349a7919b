"""The importance lane's section, on results made by hand."""

from itertools import product

import numpy as np
import pytest
import yaml

from asterism.core.files.artifacts import read_json, write_arrays, write_json
from asterism.report.base.pictures import png
from asterism.report.lanes import importance_drawings
from asterism.report.lanes.importance import importance_section
from places import ROOT
from report.page_parts import headline, plain, rows

CRITERIA = ("neuron_coverage", "k_multisection", "likelihood_surprise")
#: By numbers of important neurons.
COMBINATIONS = {"idc_8": 256, "idc_4": 16}
METRICS, NEURONS = "metrics/measure_importance.json", "artifacts/measure_importance/neurons.json"


def coverage(idc, others, **more):
    return {**dict.fromkeys(COMBINATIONS, idc), **dict.fromkeys(CRITERIA, others), **more}


def beside(value, clean=7.0, noise=7.0, spread=0.0):
    """A value and those of its controls."""
    return {
        **{"value": value, "clean_mean": clean, "clean_std": spread},
        **{"noise_mean": noise, "noise_std": spread},
    }


def augmentation(new, share=0.75):
    return {
        **{name: beside(share, 0.5, 0.625) for name in (*CRITERIA, *COMBINATIONS)},
        **{"inputs": 10, "draws": 4},
        "new_combinations": {name: beside(new) for name in COMBINATIONS},
        "smallest_subset": dict.fromkeys(COMBINATIONS, 5),
        "smallest_subset_of_union": dict.fromkeys(COMBINATIONS, 35),
    }


@pytest.fixture
def leave(tmp_path):
    """Changes a file that the stages have left."""

    def change(name, edit):
        facts = read_json(tmp_path / name) if (tmp_path / name).exists() else {}
        edit(facts)
        write_json(tmp_path / name, facts)

    return change


@pytest.fixture
def workspace(tmp_path, leave):
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["attack"]["names"] = ["fgsm", "noise"]
    params["criteria"]["names"] = [*CRITERIA]
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    measured = {
        "combinations": COMBINATIONS,
        "test_set": coverage(0.5, 0.25, inputs=60),
        "all_tests": coverage(0.625, 0.375, inputs=1200),
        "smallest_subset": {"idc_4": 6, "idc_8": 30},
        # In no order of the page.
        "augmentations": {
            **{"semantic": augmentation(8), "noise": augmentation(99)},
            "fgsm": augmentation(9),
        },
    }
    leave(METRICS, lambda facts: facts.update(measured))
    facts = {"relevance": 2.25, "centroids": [0.5, 1.5], "silhouette": 0.125}
    facts |= {"edges": [0.0, 1.0, 2.0], "histogram": [3, 11]}
    neurons = [{"neuron": number, **facts} for number in range(4)]
    learnt = {"layer": "dense2", "target_class": None, "notes": [], "neurons": neurons}
    leave(NEURONS, lambda facts: facts.update(learnt))
    attacked = {"inputs": 10, "success": 1.0, "success_rounded": 0.9, "l2_mean": 1.5}
    attacked["linf_mean"] = 0.3
    names = ("noise", "semantic", "fgsm")
    leave("metrics/attack.json", lambda facts: facts.update(dict.fromkeys(names, attacked)))
    return tmp_path


@pytest.fixture
def figures(drawn):
    """What is drawn, by what it shows."""
    return drawn(importance_drawings)


@pytest.fixture
def shown(workspace, figures):
    """The page's text, and its tables' rows."""

    def show():
        body = importance_section(workspace).body
        return plain(body), rows(body)

    return show


def test_there_is_none_before_coverage_was_measured(workspace):
    (workspace / METRICS).unlink()
    assert importance_section(workspace) is None


def test_sets_augmentations_and_criteria_stand_in_the_order_of_the_parameters(
    workspace, figures, shown
):
    assert headline(importance_section(workspace)) == [
        ("subject layer", "dense2"),
        ("IDC of the test set, 4 neurons", "50.0%"),
        ("combinations to exercise", "16"),
        ("inputs that keep this IDC", "6"),
    ]
    text, (*told,) = shown()
    assert told[:4] == [[str(number), "2.2", "2", "0.125"] for number in range(4)]
    del told[:4]
    assert told[:3] == [
        [name, "10", "100.0%", "90.0%", "1.50", "0.30"]
        for name in ("FGSM", "Gaussian noise", "natural, most different")
    ]
    assert told[3:5] == [["4", "16", "50.0%", "6", "62.5%"], ["8", "256", "50.0%", "30", "62.5%"]]
    added = told[5:8]
    assert [row[:3] for row in added] == [
        [f"+ {name}", "10", "4"] for name in ("FGSM", "Gaussian noise", "natural, most different")
    ]
    criteria = [row for row in told if row[0] in ("IDC 4", "IDC 8", *map(spoken, CRITERIA))]
    assert [row[0] for row in criteria] == ["IDC 4", "IDC 8", *map(spoken, CRITERIA)]
    assert criteria[2] == [spoken(CRITERIA[0]), "25.0%", "37.5%", *["75.0% 50.0% · 62.5%"] * 3]
    assert "test set (60 inputs)" in text and "all tests (1200 inputs)" in text
    assert "of class" not in text and "Note:" not in text and "recurrent network" not in text


def spoken(name):
    return name.replace("_", " ")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        *((None, "–"), (1234.0, "1,234"), (1.5, "1.5"), (1, "100.0%"), (0.1, "10.0%")),
        *((0.0999, "9.99%"), (0.00123, "0.123%"), (0, "0.0%"), (1.04, "1")),
    ],
)
def test_shares_are_percent_and_counts_are_as_they_are(leave, shown, value, told):
    leave(METRICS, lambda facts: facts["test_set"].update({CRITERIA[0]: value}))
    (row,) = [row for row in shown()[1] if row[0] == spoken(CRITERIA[0])]
    assert row[1] == told


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (beside(9), "above both"),
        (beside(8), "above neither"),  # one combination more than draws that agree is nothing
        (beside(9, noise=8.5), "above clean only"),
        (beside(9, clean=8.5), "above random only"),
        (beside(9, spread=0.875), "above both"),
        (beside(9, spread=1.125), "above neither"),
        (beside(9) | {"clean_std": None, "noise_std": None}, "one draw: no verdict"),
    ],
)
def test_an_augmentation_rises_by_more_than_its_controls_and_one_combination(
    leave, shown, facts, verdict
):
    def change(metrics):
        metrics["augmentations"]["fgsm"]["new_combinations"]["idc_4"] = facts

    leave(METRICS, change)
    row = next(row for row in shown()[1] if row[0] == "+ FGSM")
    assert row[3].startswith(f"9 {verdict}" if facts["value"] == 9 else f"8 {verdict}")
    assert ("±" in row[3]) == (facts["clean_std"] is not None)


@pytest.mark.parametrize(
    ("natural", "spread", "said"),
    [
        (
            0.75,
            0.0,
            "Here it holds. Adversarial inputs raised it more than both controls in 2 of 2",
        ),
        (0.5, 0.0, "Here it holds in part."),
        (0.75, 1.0, "Here it does not hold."),
        (0.75, None, "too much for two draws"),
    ],
)
def test_the_finding_is_what_the_controls_say(leave, shown, natural, spread, said):
    """Noise, which rises most, is no adversarial input."""

    def change(metrics):
        for name in COMBINATIONS:
            shares = {"semantic": natural, "fgsm": 0.75, "noise": 0.9}
            for added, share in shares.items():
                facts = beside(share, 0.25, 0.5, spread)
                metrics["augmentations"][added][name] = facts

    leave(METRICS, change)
    assert said in shown()[0]


def test_neurons_whose_every_combination_is_exercised_prove_nothing(leave, figures, shown):
    leave(METRICS, lambda facts: facts["test_set"].update(idc_4=1.0))
    text, told = shown()
    assert "of 1 cases" in text and "left out" in text
    assert [row[3].startswith("9") for row in told if row[0].startswith("+ ")] == [
        True,
        True,
        False,
    ]
    assert sum("none is left" in cell for row in told for cell in row) == 3
    assert any("IDC 8" in figure.alt for figure in figures.values())
    leave(METRICS, lambda facts: facts["test_set"].update(idc_8=1.0))
    text, _ = shown()
    assert "cannot rise" in text and "Rise of IDC" not in text


def test_a_class_and_notes_are_told(leave, shown):
    told = {"target_class": 3, "notes": ["relevance starts elsewhere"]}
    leave(NEURONS, lambda facts: facts.update(told))
    text, _ = shown()
    assert "of class 3" in text and "Note: relevance starts elsewhere." in text


def test_without_idc_the_page_says_why_and_shows_the_other_criteria(workspace, leave, shown):
    def change(metrics):
        for key in ("combinations", "smallest_subset"):
            metrics[key] = {}
        facts = [metrics["test_set"], metrics["all_tests"]]
        for added in metrics["augmentations"].values():
            facts.append(added | {"new_combinations": {}})
        for one, name in product(facts, COMBINATIONS):
            del one[name]

    why = "relevance cannot pass the operator sort"
    leave(METRICS, change)
    leave(NEURONS, lambda facts: facts.update(neurons=[], notes=[why]))
    section, (text, told) = importance_section(workspace), shown()
    (answer,) = section.answers
    assert f"IDC) is left out: {why}." in text and why in answer.sentence
    assert "Smallest" not in text and "New combinations" not in text
    values = [("neuron coverage", "25.0%"), ("k multisection", "25.0%")]
    assert [(one.label, one.value) for one in answer.figures][:2] == values
    assert headline(section)[:2] == [("subject layer", "dense2"), values[0]]
    assert [row[0] for row in told if len(row) == 6][3:] == [*map(spoken, CRITERIA)]


def test_what_was_not_measured_is_a_dash(leave, shown):
    unknown = dict.fromkeys(("success", "success_rounded", "l2_mean", "linf_mean"))
    leave("metrics/attack.json", lambda facts: facts["noise"].update(unknown))
    assert ["Gaussian noise", "10", "–", "–", "–", "–"] in shown()[1]


def test_the_attacked_recurrent_network_is_shown(leave, shown):
    attacked = {
        **{"inputs": 20, "success": 0.5, "l2_mean": 1.5, "linf_mean": 0.29},
        **{"state_similarity_auroc": 0.81, "transition_similarity_auroc": 0.77},
    }
    leave("metrics/attack_rnn.json", lambda facts: facts.update(test={}, bim=attacked))
    assert ["BIM", "20", "50.0%", "1.50", "0.29", "0.81", "0.77"] in shown()[1]


def test_the_regressor_is_shown_where_there_is_one(workspace, leave, shown):
    metrics = read_json(workspace / METRICS)
    turned = {"inputs": 5, "success": 0.2, "l2_mean": 1.5, "deviation_degrees_mean": 3.25}
    found = {
        **{"test_mse": 0.01, "tolerance_degrees": 2.5, "test_set": metrics["test_set"]},
        "augmentations": metrics["augmentations"],
        "attacks": {"fgsm": {**turned, "deviation_degrees_max": 7.5}},
    }
    leave("metrics/measure_driving.json", lambda facts: facts.update(found))
    text, told = shown()
    assert "here 2.5°" in text and "mean squared error 0.0100" in text
    assert ["FGSM", "5", "20.0%", "3.25°", "7.50°", "1.50"] in told
    write_json(workspace / "metrics/measure_driving.json", {})
    assert "°" not in shown()[0]


def test_rises_and_activations_can_be_had_as_tables(figures, shown):
    shown()
    (gains,) = (figure for figure in figures.values() if "IDC 4" in figure.alt)
    assert gains.data.rows() == [(name, 25, 0, 12.5) for name in ("fgsm", "noise", "semantic")]
    (activations,) = (figure for figure in figures.values() if figure is not gains)
    assert activations.data.rows()[:2] == [(0, 0.0, 1.0, 3), (0, 1.0, 2.0, 11)]
    assert len(activations.data) == 2 * 4


def test_images_of_heatmaps_stand_class_by_class(workspace, figures):
    images = np.arange(8, dtype=np.uint8).reshape(2, 1, 4, 1)
    arrays = {"labels": np.array([7, 2]), "images": images}
    arrays["relevance"] = np.ones((2, 1, 4), np.float32)
    write_arrays(workspace / "artifacts/measure_importance/heatmaps.npz", **arrays)
    body = str(importance_section(workspace).body)
    shown = [png(images[n], f"an input of class {label}", 56) for n, label in ((1, 2), (0, 7))]
    places = [body.index(str(picture)) for picture in shown]
    assert places == sorted(places)
