"""Parameters of generation whose reward may be branches of the libraries' code."""

from __future__ import annotations

from pydantic import Field

from asterism.differential.params import Backends
from asterism.memo.generating.params import GenerateParams


class RewardedGenerateParams(GenerateParams):
    """Generation of models (Algorithm 2), and where they are run for a further reward."""

    branch_backends: Backends = Field(
        description="backends that models are run in so that new branches of the libraries' Python "
        "code are a reward too; none: models are only generated"
    )
