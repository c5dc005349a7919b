"""Parameters of compression."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from asterism.core.params import Section


class CompressionParams(Section):
    """One compressed model to make; its key in ``params.yaml`` names it."""

    method: str = Field(description="a compressor of asterism.compression.methods")
    options: dict[str, Any] = Field(description="what this method takes, see its Options")
