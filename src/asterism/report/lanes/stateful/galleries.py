"""Crashes beside their seeds: which of a campaign's many crashes the page shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from asterism.images.bounds import are_images
from asterism.report.base.pictures import png
from asterism.report.lanes.stateful.campaigns import CampaignSummary

#: Crashes shown of each campaign, each of another group where there are enough; one of each class
#: where there are more classes.
SHOWN = 10


def galleries(
    campaigns: Sequence[CampaignSummary], seeds: NDArray[Any]
) -> list[list[dict[str, Any]]]:
    """Each campaign's gallery; none where inputs are no images.

    All campaigns begin with the same mutants of the same seeds, so the first crashes would be the
    same pictures everywhere. Those that a campaign alone has found are preferred, then those that
    no gallery before shows.

    Args:
        campaigns: in the order of the page.
        seeds: ``(S, ...)``, which crashes are mutants of.
    """
    if not are_images(seeds):
        return []
    finders = Counter(crash for campaign in campaigns for crash in set(campaign.fingerprints))
    shown: set[bytes] = set()
    made = []
    for campaign in campaigns:
        rows = _chosen(campaign, finders, shown)
        shown |= {campaign.fingerprints[row["id"]] for row in rows}
        made.append([_picture(row, campaign, seeds) for row in rows])
    return made


def _chosen(
    campaign: CampaignSummary, finders: Counter[bytes], shown: set[bytes]
) -> list[dict[str, Any]]:
    """Rows of the crashes to show, spread over the classes."""
    crashes = campaign.crashes.table.with_columns(
        pl.Series("shown", [f in shown for f in campaign.fingerprints], pl.Boolean),
        pl.Series("shared", [finders[f] > 1 for f in campaign.fingerprints], pl.Boolean),
    )
    groups = crashes.sort("shown", "shared", "id").unique(
        "group", keep="first", maintain_order=True
    )
    spread = groups.with_columns(pl.int_range(pl.len()).over("label").alias("turn"))
    return spread.sort("turn", "label").head(max(SHOWN, groups["label"].n_unique())).to_dicts()


def _picture(
    row: dict[str, Any], campaign: CampaignSummary, seeds: NDArray[np.uint8]
) -> dict[str, Any]:
    return {
        "label": row["label"],
        "predicted": row["predicted"],
        "mutators": row["mutators"],
        "seed": png(seeds[row["seed"]], f"seed, a {row['label']}"),
        "crash": png(campaign.crashes.images[row["id"]], f"taken for a {row['predicted']}"),
    }
