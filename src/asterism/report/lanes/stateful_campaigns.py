"""What the page shows of a fuzzing campaign, and which of its many misclassified mutants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_json, read_table
from asterism.core.svg import PALETTE
from asterism.deepstellar.fuzzing.guidance import GUIDING
from asterism.deepstellar.fuzzing.population import fingerprint
from asterism.deepstellar.fuzzing.results import Corpus
from asterism.images import are_images
from asterism.report.base.pictures import png

#: Crashes shown of each campaign, each of another group where there are enough; one of each class
#: where there are more classes.
SHOWN = 10


def guide_title(guide: str) -> str:
    """What guides a campaign, in words: ``k_step`` as ``k step``."""
    return "nothing" if guide == "none" else guide.replace("_", " ")


def guide_position(guide: str) -> int:
    """Where a campaign stands in every table, legend and list of the page."""
    return list(GUIDING).index(guide)


def curve_style(guide: str) -> dict[str, Any]:
    """How a campaign's curve is drawn in every plot of the page, whichever others there are."""
    if guide == "none":
        return {"color": "#777777", "linestyle": "--"}
    return {"color": PALETTE[guide_position(guide)], "linestyle": "-"}


@dataclass(frozen=True)
class CampaignSummary:
    """One campaign.

    Attributes:
        guide: what guides it, one of ``fuzz.criteria``.
        metrics: its numbers.
        history: how queue, crashes and coverage grew.
        crashes: what it found.
    """

    guide: str
    metrics: dict[str, Any]
    history: pl.DataFrame
    crashes: Corpus

    @classmethod
    def load(cls, workspace: Path, guide: str) -> CampaignSummary:
        """What the stage ``fuzz`` left of a campaign."""
        return cls(
            guide,
            read_json(workspace / f"metrics/fuzz-{guide}.json"),
            read_table(workspace / f"plots/fuzz-{guide}/history.csv"),
            Corpus.load(workspace / "artifacts/fuzz" / guide, "crashes"),
        )

    @cached_property
    def fingerprints(self) -> list[bytes]:
        """What tells each crash's image from all others."""
        return [fingerprint(image) for image in self.crashes.images]

    def ran_as(self, other: CampaignSummary) -> bool:
        """Whether, by all that they left, both campaigns ran the same mutants."""
        return (
            self.fingerprints == other.fingerprints
            # A queue takes in what guides, also where nothing is left of the budget to make use of.
            and self.history.drop("queue").equals(other.history.drop("queue"))
        )


def load_campaigns(workspace: Path, measured: Collection[str]) -> list[CampaignSummary]:
    """The campaigns whose queues are among the measured sets, in the page's order."""
    guides = [name.removesuffix("_queue") for name in measured if name.endswith("_queue")]
    return [CampaignSummary.load(workspace, guide) for guide in sorted(guides, key=guide_position)]


def distinct_crashes(campaigns: Sequence[CampaignSummary]) -> int:
    """Crashes of all campaigns together; an image that several found counts once."""
    return len({crash for campaign in campaigns for crash in campaign.fingerprints})


def crash_galleries(
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
