"""The stateful lane's section, the crashes it shows and what it concludes, on results by hand."""

import numpy as np
import polars as pl
import pytest

from asterism.core.files.artifacts import write_arrays, write_json, write_table
from asterism.deepstellar.fuzzing.results import Corpus
from asterism.deepstellar.seeds import SeedInputs
from asterism.report.base.pictures import png
from asterism.report.lanes import stateful as module
from asterism.report.lanes import stateful_campaigns as campaign_summaries
from asterism.report.lanes.stateful import conclude_on_guidance, stateful_section
from asterism.report.lanes.stateful_campaigns import (
    CampaignSummary,
    crash_galleries,
    guide_position,
)
from report.page_parts import headline, plain, rows

CRITERIA = ("basic_state", "weighted_state", "n_step_state_boundary", "basic_transition")
#: Inputs and the least coverage of each set, in no order of the page.
SETS = {
    **{"none_crashes": (2, 0.1), "state_crashes": (3, 0.2), "none_queue": (4, 0.3)},
    **{"test": (1200, 0.75), "seeds": (5, 0.05), "state_queue": (6, 0.35)},
}
HISTORY = {
    **{"mutants": [0, 500, 1000], "queue": [5, 6, 6], "crashes": [0, 1, 2]},
    **{"basic_state": [0.1, 0.3, 0.5], "basic_transition": [0.2, 0.25, 0.4]},
    "n_step_state_boundary": [0.0, 0.01, 0.05],
}
#: Grey values of each campaign's crashes: one was found by both.
CRASHES = {"state": (7, 8, 9), "none": (9, 10)}


def leave_campaign(root, guide):
    greys = CRASHES[guide]
    coverage = {"basic_state": 0.5, "basic_transition": 0.4, "n_step_state_boundary": 0.05}
    metrics = {
        **{"mutants": 1000, "queue": 6, "crashes": len(greys), "crash_groups": len(greys)},
        **{"seeds_with_crashes": 1, "coverage": coverage},
    }
    write_json(root / f"metrics/fuzz-{guide}.json", metrics)
    write_table(root / f"plots/fuzz-{guide}/history.csv", pl.DataFrame(HISTORY))
    folder = root / "artifacts/fuzz" / guide
    images = np.array(greys, np.uint8).repeat(4).reshape(-1, 2, 2, 1)
    write_arrays(folder / "crashes.npz", images=images, label=np.ones(len(greys), np.int64))
    table = {
        **{"id": range(len(greys)), "label": [1] * len(greys), "predicted": greys},
        **{"seed": [0] * len(greys), "mutators": ["blur"] * len(greys)},
        "group": range(len(greys)),
    }
    write_table(folder / "crashes.csv", pl.DataFrame(table))


@pytest.fixture
def workspace(tmp_path):
    coverage = {}
    for name, (inputs, least) in SETS.items():
        coverage[name] = {c: least + 0.01 * n for n, c in enumerate(module.criteria_in_order())}
        coverage[name] |= {"inputs": inputs}
        areas = {"state_similarity_auroc": least + 0.5, "transition_similarity_auroc": least + 0.4}
        coverage[name] |= areas if name.endswith("_crashes") else {}
    write_json(tmp_path / "metrics/measure_coverage.json", coverage)
    write_json(
        tmp_path / "metrics/train_rnn.json", {"train_accuracy": 0.9375, "test_accuracy": 0.875}
    )
    write_json(tmp_path / "metrics/profile_states.json", {"profiled": 54321})
    chain = {"states": 1234, "transitions": 5678, "boundary_states": 90, "explained_variance": 0.5}
    write_json(tmp_path / "metrics/build_dtmc.json", chain)
    graph = tmp_path / "plots/build_dtmc/graph.svg"
    graph.parent.mkdir(parents=True)
    graph.write_text("<svg/>")
    seeds = np.full((1, 2, 2, 1), 77, np.uint8)
    SeedInputs(seeds, np.array([1]), np.array([0])).save(tmp_path / "artifacts/select_seeds")
    for guide in ("none", "state"):
        leave_campaign(tmp_path, guide)
    curves = [
        (f"{guide}_crashes", similarity, rate, rate ** (1 + number))
        for number, guide in enumerate(("none", "state"))
        for similarity in ("transition", "state")
        for rate in (0.0, 0.5, 1.0)
    ]
    columns = ["set", "similarity", "false_positive_rate", "true_positive_rate"]
    write_table(
        tmp_path / "plots/measure_coverage/roc.csv", pl.DataFrame(curves, columns, orient="row")
    )
    return tmp_path


@pytest.fixture
def figures(drawn):
    return drawn(module)


def test_there_is_none_before_coverage_was_measured(workspace):
    (workspace / "metrics/measure_coverage.json").unlink()
    assert stateful_section(workspace) is None


def test_the_section_holds_the_numbers_that_the_stages_left(workspace, figures):
    section = stateful_section(workspace)
    assert (section.anchor, section.order) == ("stateful", 10)
    assert headline(section) == [
        ("test accuracy", "87.5%"),
        ("abstract states", "1,234"),
        ("states that the test set covers", "75.0%"),
        ("different crashes, all campaigns together", "4"),
    ]
    text = plain(section.body)
    for said in ("93.8% of the training", "87.5% of the test inputs", "54,321 correctly"):
        assert said in text
    assert "1,234 abstract states with 5,678 transitions; 90" in text
    assert "50.0% of their variance" in text
    assert "“state” by basic state." in text
    assert "guided by state" in text
    assert 'alt="The most visited states' in section.body


def test_sets_and_campaigns_stand_in_the_pages_order(workspace, figures):
    told = rows(stateful_section(workspace).body)
    names = ["test", "seeds", "queue, guided by state", "queue, guided by nothing"]
    names += ["crashes, guided by state", "crashes, guided by nothing"]
    assert [row[0] for row in told] == [*names, "state", "nothing"]
    assert [row[1] for row in told[:6]] == ["1,200", "5", "6", "4", "3", "2"]
    assert told[0][2:4] == ["75.0%", "76.0%"]
    assert told[6] == ["state", "1,000", "6", "3", "3", "1", "50.0%", "40.0%", "5.0%"]
    assert told[7] == ["nothing", "1,000", "6", "2", "2", "1", "50.0%", "40.0%", "5.0%"]
    assert guide_position("state") < guide_position("none")


def test_each_campaign_has_a_gallery_of_its_own(workspace, figures):
    body = str(stateful_section(workspace).body)
    at = {name: body.index(f"Guided by {name}:") for name in ("state", "nothing")}
    assert at["state"] < at["nothing"]
    alone = png(np.full((2, 2, 1), 10, np.uint8), "taken for a 10")
    assert at["nothing"] < body.index(alone) and body.count(alone) == 1
    assert body.count(png(np.full((2, 2, 1), 77, np.uint8), "seed, a 1")) == 5


def test_coverage_grows_with_the_mutants(workspace, figures):
    stateful_section(workspace)
    for column in module.CURVES:
        shown = figures[f"coverage-{column}"]
        points = list(zip(HISTORY["mutants"], HISTORY[column], strict=True))
        told = [(guide, *point) for guide in ("state", "nothing") for point in points]
        assert shown.data.rows() == told


def test_curves_of_crashes_have_their_area(workspace, figures):
    stateful_section(workspace)
    assert len(figures["roc"].data) == 12
    for axes, added in zip(figures["roc"].figure.axes, (0.5, 0.4), strict=True):
        _, *curves = axes.lines
        labels = [f"state ({0.2 + added:.2f})", f"nothing ({0.1 + added:.2f})"]
        assert [curve.get_label() for curve in curves] == labels
        assert [curve.get_ydata().tolist() for curve in curves] == [[0, 0.25, 1], [0, 0.5, 1]]


def test_without_crashes_there_is_nothing_to_tell_apart(workspace, figures):
    path = workspace / "plots/measure_coverage/roc.csv"
    path.write_text(path.read_text().splitlines()[0] + "\n")
    assert "nothing to tell apart" in plain(stateful_section(workspace).body)
    assert set(figures) == {f"coverage-{column}" for column in module.CURVES}


SEEDS = np.arange(40, dtype=np.uint8).repeat(4).reshape(40, 2, 2, 1)


def campaign(guide, crashes):
    """A campaign that found crashes: each a grey value (what it looks like), class and group."""
    grey, label, group = zip(*crashes, strict=True)
    table = pl.DataFrame(
        {
            "id": range(len(crashes)),
            "label": label,
            "predicted": [99] * len(crashes),
            "seed": label,
            "mutators": [f"chain {g}" for g in grey],
            "group": group,
        }
    )
    images = np.array(grey, np.uint8).repeat(4).reshape(-1, 2, 2, 1)
    return CampaignSummary(guide, {}, pl.DataFrame(), Corpus(images, np.array(label), table))


def greys_shown(*campaigns):
    """Grey values and classes that the galleries show, in their order."""
    return [
        [(int(item["mutators"].split()[1]), item["label"]) for item in gallery]
        for gallery in crash_galleries(campaigns, SEEDS)
    ]


@pytest.fixture
def two_pictures(monkeypatch):
    monkeypatch.setattr(campaign_summaries, "SHOWN", 2)


def test_what_a_campaign_alone_found_is_shown_first(two_pictures):
    shared = [(100, 1, 0), (101, 2, 1)]
    one = campaign("state", [*shared, (102, 1, 0), (103, 2, 2)])
    other = campaign("none", [*shared, (104, 1, 2)])
    assert greys_shown(one, other) == [[(102, 1), (103, 2)], [(104, 1), (101, 2)]]


def test_of_the_same_crashes_each_gallery_shows_others(two_pictures):
    same = [(100, 1, 0), (101, 1, 1), (102, 2, 2), (103, 2, 3)]
    one, other = campaign("state", same), campaign("none", same)
    assert greys_shown(one, other) == [[(100, 1), (102, 2)], [(101, 1), (103, 2)]]


def test_where_there_are_no_others_crashes_are_shown_again(two_pictures):
    same = [(100, 1, 0), (101, 2, 1)]
    assert (
        greys_shown(campaign("state", same), campaign("none", same)) == [[(100, 1), (101, 2)]] * 2
    )


def test_every_class_is_shown_and_one_class_by_several_groups(two_pictures):
    classes = [(100 + label, label, label) for label in (3, 1, 4, 0, 2)]
    only = [(200, 7, 0), (201, 7, 0), (202, 7, 1)]
    assert greys_shown(campaign("state", classes), campaign("none", only)) == [
        [(100 + label, label) for label in range(5)],
        [(200, 7), (202, 7)],
    ]


def test_a_crash_stands_beside_its_seed(two_pictures):
    [[item]] = crash_galleries([campaign("none", [(100, 7, 0)])], SEEDS)
    assert item["seed"] == png(SEEDS[7], "seed, a 7")
    assert item["crash"] == png(np.full((2, 2, 1), 100, np.uint8), "taken for a 99")


def outline(guide, groups=3, grey=(1, 2), states=(0.5, 0.6), queue=(2, 2)):
    images = np.array(grey, np.uint8).reshape(-1, 1, 1, 1)
    corpus = Corpus(images, np.zeros(len(images), np.int64), pl.DataFrame())
    history = pl.DataFrame({"mutants": [0, 9], "queue": queue, "basic_state": states})
    return CampaignSummary(guide, {"crash_groups": groups}, history, corpus)


SAME = "All campaigns ran the same mutants"
NONE = outline("none")


@pytest.mark.parametrize(
    ("campaigns", "said"),
    [
        ([outline("state"), NONE], SAME),
        ([outline("state", queue=(2, 5)), NONE], SAME),  # what joined was no parent yet
        ([outline("state", grey=(1, 3)), NONE], "no guided campaign found more"),
        ([outline("state", states=(0.5, 0.7)), NONE], "no guided campaign found more"),
        ([outline("state"), outline("k_step", grey=(1,)), NONE], "no guided campaign found more"),
        ([outline("k_step", groups=4, grey=(1, 3)), NONE], "those guided by k step found more"),
    ],
)
def test_the_conclusion_is_what_the_campaigns_did(campaigns, said):
    assert said in conclude_on_guidance(campaigns)


@pytest.mark.parametrize("campaigns", [[], [NONE], [outline("state")]])
def test_without_both_kinds_nothing_is_concluded(campaigns):
    assert conclude_on_guidance(campaigns) is None
