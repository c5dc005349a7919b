"""What the page concludes of guided campaigns, on campaigns made by hand."""

import numpy as np
import polars as pl
import pytest

from asterism.deepstellar.campaigns.results import Corpus
from asterism.report.lanes.stateful.campaigns import CampaignSummary
from asterism.report.lanes.stateful.section import finding


def campaign(guide, groups=3, grey=(1, 2), states=(0.5, 0.6), queue=(2, 2)):
    images = np.array(grey, np.uint8).reshape(-1, 1, 1, 1)
    corpus = Corpus(images, np.zeros(len(images), np.int64), pl.DataFrame())
    history = pl.DataFrame({"mutants": [0, 9], "queue": queue, "basic_state": states})
    return CampaignSummary(guide, {"crash_groups": groups}, history, corpus)


SAME = "All campaigns ran the same mutants"
NONE = campaign("none")


@pytest.mark.parametrize(
    ("campaigns", "said"),
    [
        ([campaign("state"), NONE], SAME),
        ([campaign("state", queue=(2, 5)), NONE], SAME),  # what joined was no parent yet
        ([campaign("state", grey=(1, 3)), NONE], "no guided campaign found more"),
        ([campaign("state", states=(0.5, 0.7)), NONE], "no guided campaign found more"),
        ([campaign("state"), campaign("k_step", grey=(1,)), NONE], "no guided campaign found more"),
        ([campaign("k_step", groups=4, grey=(1, 3)), NONE], "those guided by k step found more"),
    ],
)
def test_the_conclusion_is_what_the_campaigns_did(campaigns, said):
    assert said in finding(campaigns)


@pytest.mark.parametrize("campaigns", [[], [NONE], [campaign("state")]])
def test_without_both_kinds_nothing_is_concluded(campaigns):
    assert finding(campaigns) is None
