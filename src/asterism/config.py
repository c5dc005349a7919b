"""The whole of ``params.yaml``: the sections that the lanes declare, side by side."""

from __future__ import annotations

from asterism.core.params import Section


class Params(Section):
    """Every parameter of the pipeline."""

    seed: int
