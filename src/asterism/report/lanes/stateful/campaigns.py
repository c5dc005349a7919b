"""Fuzzing campaigns as the page shows them: each with one name and one place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from asterism.core.drawing.svg import PALETTE
from asterism.core.files.artifacts import read_json, read_table
from asterism.deepstellar.campaigns.population import fingerprint
from asterism.deepstellar.campaigns.results import Corpus
from asterism.deepstellar.fuzzing.guidance import GUIDING


def spoken(guide: str) -> str:
    """What guides a campaign, in words: ``k_step`` as ``k step``."""
    return "nothing" if guide == "none" else guide.replace("_", " ")


def place(guide: str) -> int:
    """Where a campaign stands in every table, legend and list of the page."""
    return list(GUIDING).index(guide)


def line(guide: str) -> dict[str, Any]:
    """How a campaign's curve is drawn in every plot of the page, whichever others there are."""
    if guide == "none":
        return {"color": "#777777", "linestyle": "--"}
    return {"color": PALETTE[place(guide)], "linestyle": "-"}


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
    return [CampaignSummary.load(workspace, guide) for guide in sorted(guides, key=place)]


def distinct_crashes(campaigns: Sequence[CampaignSummary]) -> int:
    """Crashes of all campaigns together; an image that several found counts once."""
    return len({crash for campaign in campaigns for crash in campaign.fingerprints})
