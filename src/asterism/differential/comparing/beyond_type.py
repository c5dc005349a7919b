"""Values that the type named by a file cannot hold: who computes in it overflows, and is right to.

The reference computes in float64, so that it has no overflow, and most libraries compute half
precision in float32 on a processor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from asterism.differential.comparing.judging import run_subject
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import BEYOND_TYPE, Finding
from asterism.differential.subjects.model_files import Arrays, ModelFile

_LARGEST = float(np.finfo(np.float16).max)


def within_type(
    pool: WorkerPool, subject: ModelFile, inputs: Mapping[str, Arrays], findings: Sequence[Finding]
) -> list[Finding]:
    """The findings, without the blame for what follows from the type that the file names.

    Args:
        pool: started workers of the references.
        subject: the model.
        inputs: by distribution.
        findings: of the model.
    """
    suspects = {one.distributions[0] for one in findings if _is_suspect(one)}
    said: dict[str, str] = {}
    if subject.coarsest == "float16":
        said = {name: _overflow(pool, subject, inputs[name], name) for name in suspects}
    return [
        replace(one, symptom=BEYOND_TYPE, message=why)
        if _is_suspect(one) and (why := said.get(one.distributions[0]))
        else one
        for one in findings
    ]


def _is_suspect(one: Finding) -> bool:
    return one.symptom == "NaN/Inf mask differs"


def _overflow(pool: WorkerPool, subject: ModelFile, inputs: Arrays, distribution: str) -> str:
    """The first node whose half-precision values the type cannot hold; nothing where all fit."""
    every, names = subject.exposing()
    result = run_subject(pool, every, {distribution: inputs}, [])
    given = result.outputs.get(every.references.right, {}).get(distribution, [])
    values = dict(zip(names, given, strict=False))
    kinds = subject.kinds()
    for node in subject.nodes:
        for name in node.makes:
            if kinds.get(name) == np.float16 and name in values:
                finite = np.abs(values[name][np.isfinite(values[name])])
                largest = float(finite.max(initial=0.0))
                if largest > _LARGEST:
                    return f"{node.label} makes {largest:.4g}, and half precision ends at 65,504"
    return ""
