"""Measuring a pair: agreement on the given inputs, and flips under natural changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from asterism.core.files.artifacts import replacing, write_arrays, write_json
from asterism.vetting.agreement import measure_agreement
from asterism.vetting.changes import measure_flips
from asterism.vetting.opening import open_vetted
from asterism.vetting.params import VetParams


def measure(params: VetParams, seed: int, folder: Path) -> dict[str, Any]:
    """Measure a pair, and leave both models' answers.

    Args:
        params: the pair and what is asked.
        seed: the run's seed.
        folder: replaced by ``answers.npz`` (``f``, ``g``: float32 ``(N, K)``; ``deviates`` bool
            ``(N,)``; ``labels`` where there are some) and ``inputs.json`` (names, notes).

    Returns:
        Agreement and flips, as JSON.

    Raises:
        UserError: see :func:`~asterism.vetting.opening.open_vetted`.
    """
    with open_vetted(params, seed) as vetted, replacing(folder) as temporary:
        inputs, answers = vetted.inputs, vetted.answers
        distance = vetted.comparison.distance(answers.f, answers.g)
        agreement = measure_agreement(
            answers.f,
            answers.g,
            vetted.deviates,
            distance,
            inputs.labels,
            vetted.scores,
            params.confidence,
        )
        agreed = np.flatnonzero(vetted.answered & ~vetted.deviates)
        flips = measure_flips(vetted, agreed, seed)
        arrays = {"f": answers.f, "g": answers.g, "deviates": vetted.deviates}
        if inputs.labels is not None:
            arrays["labels"] = inputs.labels
        write_arrays(temporary / "answers.npz", **arrays)
        facts = {
            "kind": inputs.kind,
            "items": len(inputs.items),
            "item_shape": list(inputs.items.shape[1:]),
            "output_shape": list(vetted.shape),
            "names": list(inputs.names),
            "classes": list(inputs.classes),
            "notes": {name: list(notes) for name, notes in vetted.notes.items()},
        }
        write_json(temporary / "inputs.json", facts)
    return {"agreement": agreement.to_json(), "flips": [flip.to_json() for flip in flips]}
