"""Cases of which the fast tests try some, since each takes a part of a second."""

from collections.abc import Sequence
from typing import Any

import pytest


def every(step: int, cases: Sequence[Any]) -> list[Any]:
    """The first of each ``step`` cases among the fast tests, the others among the slow ones.

    A case may be a ``pytest.param``, which keeps its id and its marks.
    """
    return [_marked(case, number % step > 0) for number, case in enumerate(cases)]


def _marked(case: Any, slow: bool) -> Any:
    if not hasattr(case, "marks"):
        case = pytest.param(*(case if isinstance(case, tuple) else (case,)))
    marks = [pytest.mark.slow] if slow else []
    return pytest.param(*case.values, marks=[*case.marks, *marks], id=case.id)
