"""An assertion for test suites: a compressed model agrees with its original."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from asterism.api.vetting import vet

#: The shortest answer: the fewest natural changes, seeds of the search and candidates of a repair.
_MINUTES = 0.5


def assert_agrees(
    original: Any,
    compressed: Any,
    inputs: Any,
    labels: Any = None,
    *,
    agreement: float = 0.98,
    page: str | Path | None = None,
    minutes: float = _MINUTES,
    **options: Any,
) -> None:
    """Assert that a compressed model answers as its original does, on inputs like the given ones.

    All inputs are asked about, and little else is tried. It passes where the whole interval of the
    share of inputs that both answer alike lies at or above ``agreement``. So few inputs never pass:
    0.98 takes at least 183, all alike.

    Args:
        original: see :func:`asterism.vet`; so are ``compressed``, ``inputs`` and ``labels``.
        compressed: see there.
        inputs: see there.
        labels: see there.
        agreement: the least share.
        page: the folder to which the page is written where it fails; None for a temporary one.
        minutes: that the answer may take. It never takes much less than half a minute's work.
        **options: of :func:`asterism.vet`, such as ``comparison``.

    Raises:
        AssertionError: it does not agree, or there are too few inputs. The message has the verdict,
            its reasons, and the path of the page.
        UserError: see :func:`asterism.vet`.

    Examples:
        >>> import numpy as np
        >>> rows = np.random.default_rng(0).normal(size=(200, 4))
        >>> assert_agrees(np.tanh, lambda x: np.tanh(x) + 1e-7, rows, comparison="regression")
    """
    __tracebackhide__ = True
    options["overrides"] = [
        "vet.limit=null",
        f"vet.thresholds.agreement={agreement}",
        *options.get("overrides", ()),
    ]
    found = vet(original, compressed, inputs, labels, minutes=minutes, **options)
    if found.agreement.differ.rest.low >= agreement:
        return
    written = found.page(page or tempfile.mkdtemp(prefix="asterism-page-"))
    raise AssertionError(f"{found!r}\npage: {written}")
