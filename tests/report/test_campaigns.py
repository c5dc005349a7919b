"""Campaigns as the page reads, names and compares them."""

import numpy as np
import polars as pl
import pytest

from asterism.core.drawing.svg import PALETTE
from asterism.core.files.artifacts import write_arrays, write_json, write_table
from asterism.deepstellar.campaigns.results import Corpus
from asterism.deepstellar.fuzzing.guidance import GUIDING
from asterism.report.campaigns import CampaignSummary, line, place, spoken


def history(**changes):
    columns = {"mutants": [0, 5], "queue": [3, 4], "crashes": [0, 2]}
    return pl.DataFrame(columns | changes)


def images(*greys):
    return np.array(greys, np.uint8).repeat(4).reshape(-1, 2, 2, 1)


def corpus(*greys):
    return Corpus(images(*greys), np.zeros(len(greys), np.int64), pl.DataFrame())


def test_a_campaign_is_what_the_stage_left(tmp_path):
    write_json(tmp_path / "metrics/fuzz-k_step.json", {"crashes": 2})
    write_table(tmp_path / "plots/fuzz-k_step/history.csv", history())
    folder = tmp_path / "artifacts/fuzz/k_step"
    write_arrays(folder / "crashes.npz", images=images(7, 9), label=np.array([1, 0]))
    write_table(folder / "crashes.csv", {"id": [0, 1], "group": [0, 1]})
    found = CampaignSummary.load(tmp_path, "k_step")
    assert (found.guide, found.metrics) == ("k_step", {"crashes": 2})
    assert found.history.equals(history())
    assert np.array_equal(found.crashes.images, images(7, 9))
    assert found.crashes.labels.tolist() == [1, 0]
    assert found.crashes.table["group"].to_list() == [0, 1]


def test_campaigns_ran_alike_that_found_the_same_but_for_what_they_kept():
    one = CampaignSummary("state", {}, history(), corpus(1, 2))
    assert one.ran_as(CampaignSummary("none", {}, history(queue=[3, 9]), corpus(1, 2)))
    assert not one.ran_as(CampaignSummary("none", {}, history(crashes=[0, 1]), corpus(1, 2)))
    assert not one.ran_as(CampaignSummary("none", {}, history(), corpus(1, 3)))
    assert not one.ran_as(CampaignSummary("none", {}, history(), corpus(2, 1)))


def test_each_campaign_has_one_name_and_one_colour():
    assert [spoken(guide) for guide in ("none", "k_step", "state")] == [
        "nothing",
        "k step",
        "state",
    ]
    assert line("none") == {"color": "#777777", "linestyle": "--"}
    guides = [guide for guide in GUIDING if guide != "none"]
    assert [line(guide)["color"] for guide in guides] == [PALETTE[place(g)] for g in guides]
    assert len({line(guide)["color"] for guide in GUIDING}) == len(GUIDING)
    with pytest.raises(ValueError, match="is not in list"):
        place("x")
