"""Measuring a pair: agreement on the given inputs, and flips under natural changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import replacing, write_arrays, write_json
from asterism.core.files.records import record_as_json
from asterism.core.messages.console import get_logger
from asterism.vetting.agreement import measure_agreement
from asterism.vetting.changes import measure_flips
from asterism.vetting.device import on_device
from asterism.vetting.opening import Vetted
from asterism.vetting.symptoms import symptoms_of

log = get_logger(__name__)


def measure_opened(vetted: Vetted, seed: int, folder: Path) -> dict[str, Any]:
    """Measure a pair, and leave both models' answers.

    Args:
        vetted: the pair and what is asked.
        seed: the run's seed.
        folder: replaced by ``answers.npz`` (``f``, ``g``: float32 ``(N, K)``; ``deviates`` bool
            ``(N,)``; ``labels`` where there are some) and ``inputs.json`` (names, notes).

    Returns:
        Symptoms, what a device does, agreement and flips, as JSON.
    """
    params = vetted.params
    with replacing(folder) as temporary:
        inputs, answers = vetted.inputs, vetted.answers
        agreement = measure_agreement(
            answers.f, answers.g, vetted.comparison, inputs.labels, params.confidence
        )
        symptoms = symptoms_of(answers.f, answers.g, vetted.shapes)
        alike = agreement.differ.rest
        log.info(
            "compared",
            inputs=alike.total,
            alike=f"{alike.share:.2%}",
            between=f"{alike.low:.2%} and {alike.high:.2%}",
            without_an_answer=agreement.lost,
        )
        device = on_device(vetted)
        flips = measure_flips(vetted, vetted.agreed, seed)
        arrays = {"f": answers.f, "g": answers.g, "deviates": vetted.deviates}
        if inputs.labels is not None:
            arrays["labels"] = inputs.labels
        write_arrays(temporary / "answers.npz", **arrays)
        facts = {
            "kind": inputs.kind,
            "items": len(inputs.items),
            "item_shape": list(inputs.items.shape[1:]),
            "outputs": {name: list(shape) for name, shape in vetted.shapes.items()},
            "names": list(inputs.names),
            "classes": list(inputs.classes),
            "notes": {name: list(notes) for name, notes in vetted.notes.items()},
        }
        write_json(temporary / "inputs.json", facts)
    return {
        "symptoms": [record_as_json(symptom) for symptom in symptoms],
        "device": record_as_json(device),
        "agreement": record_as_json(agreement),
        "flips": [record_as_json(flip) for flip in flips],
    }
