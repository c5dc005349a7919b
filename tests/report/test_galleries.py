"""Which crashes the page shows, on campaigns made by hand."""

import numpy as np
import polars as pl
import pytest

from asterism.deepstellar.campaigns.results import Corpus
from asterism.report.base.pictures import png
from asterism.report.lanes.stateful import campaigns as module
from asterism.report.lanes.stateful.campaigns import CampaignSummary, galleries

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


def shown(*campaigns):
    """Grey values and classes that the galleries show, in their order."""
    return [
        [(int(item["mutators"].split()[1]), item["label"]) for item in gallery]
        for gallery in galleries(campaigns, SEEDS)
    ]


@pytest.fixture(autouse=True)
def two_pictures(monkeypatch):
    monkeypatch.setattr(module, "SHOWN", 2)


def test_what_a_campaign_alone_found_is_shown_first():
    shared = [(100, 1, 0), (101, 2, 1)]
    one = campaign("state", [*shared, (102, 1, 0), (103, 2, 2)])
    other = campaign("none", [*shared, (104, 1, 2)])
    assert shown(one, other) == [[(102, 1), (103, 2)], [(104, 1), (101, 2)]]


def test_of_the_same_crashes_each_gallery_shows_others():
    same = [(100, 1, 0), (101, 1, 1), (102, 2, 2), (103, 2, 3)]
    one, other = campaign("state", same), campaign("none", same)
    assert shown(one, other) == [[(100, 1), (102, 2)], [(101, 1), (103, 2)]]


def test_where_there_are_no_others_crashes_are_shown_again():
    same = [(100, 1, 0), (101, 2, 1)]
    assert shown(campaign("state", same), campaign("none", same)) == [[(100, 1), (101, 2)]] * 2


def test_every_class_is_shown_and_one_class_by_several_groups():
    classes = [(100 + label, label, label) for label in (3, 1, 4, 0, 2)]
    only = [(200, 7, 0), (201, 7, 0), (202, 7, 1)]
    assert shown(campaign("state", classes), campaign("none", only)) == [
        [(100 + label, label) for label in range(5)],
        [(200, 7), (202, 7)],
    ]


def test_a_crash_stands_beside_its_seed():
    [[item]] = galleries([campaign("none", [(100, 7, 0)])], SEEDS)
    assert item["seed"] == png(SEEDS[7], "seed, a 7")
    assert item["crash"] == png(np.full((2, 2, 1), 100, np.uint8), "taken for a 99")
