"""Campaigns as the page reads, names and compares them."""

import numpy as np
import polars as pl

from asterism.core.files.artifacts import write_arrays, write_json, write_table
from asterism.deepstellar.campaigns.results import Corpus
from asterism.deepstellar.fuzzing.guidance import GUIDING
from asterism.report.lanes.stateful.campaigns import (
    CampaignSummary,
    distinct_crashes,
    load_campaigns,
)


def history(**changes):
    columns = {"mutants": [0, 5], "queue": [3, 4], "crashes": [0, 2]}
    return pl.DataFrame(columns | changes)


def images(*greys):
    return np.array(greys, np.uint8).repeat(4).reshape(-1, 2, 2, 1)


def corpus(*greys):
    return Corpus(images(*greys), np.zeros(len(greys), np.int64), pl.DataFrame())


def leave_campaign(root, guide):
    """What the stage leaves of a campaign with two crashes."""
    write_json(root / f"metrics/fuzz-{guide}.json", {"crashes": 2})
    write_table(root / f"plots/fuzz-{guide}/history.csv", history())
    folder = root / "artifacts/fuzz" / guide
    write_arrays(folder / "crashes.npz", images=images(7, 9), label=np.array([1, 0]))
    write_table(folder / "crashes.csv", {"id": [0, 1], "group": [0, 1]})


def test_campaigns_are_those_whose_queues_were_measured_in_the_pages_order(tmp_path):
    guides = [guide for guide in GUIDING if guide in ("state", "k_step", "none")]
    for guide in guides:
        leave_campaign(tmp_path, guide)
    measured = [f"{guide}_queue" for guide in reversed(guides)] + ["test_set", "seeds"]
    assert [found.guide for found in load_campaigns(tmp_path, measured)] == guides
    assert [found.guide for found in load_campaigns(tmp_path, measured[:1])] == guides[-1:]


def test_a_crash_that_several_campaigns_found_counts_once():
    some = [CampaignSummary(guide, {}, history(), corpus(*greys)) for guide, greys in (
        ("state", (1, 2)), ("none", (2, 3, 4)), ("k_step", ()),
    )]  # fmt: skip
    assert distinct_crashes(some) == 4
    assert distinct_crashes([]) == 0


def test_a_campaign_is_what_the_stage_left(tmp_path):
    leave_campaign(tmp_path, "k_step")
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
