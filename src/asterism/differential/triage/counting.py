"""Counts of unique findings by library and by symptom, as the MEMO paper's table 3 has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from asterism.differential.adapters.backends import converter_of, library_of
from asterism.differential.oracle.finding import KERAS, Finding


def counts_of(findings: Sequence[Finding], backends: Iterable[str]) -> dict[str, Any]:
    """How many findings each library and converter is to blame for, and how many show a symptom.

    Args:
        findings: unique ones.
        backends: where models were run; their libraries and converters count 0 where none is found.
    """
    backends = list(backends)
    tested = {KERAS, *map(library_of, backends)}
    tested |= {name for name in map(converter_of, backends) if name is not None}
    blamed = Counter(finding.library for finding in findings)
    symptoms = Counter(finding.symptom for finding in findings)
    return {
        "by_library": {name: blamed[name] for name in sorted(tested | blamed.keys())},
        "by_symptom": dict(sorted(symptoms.items())),
    }
