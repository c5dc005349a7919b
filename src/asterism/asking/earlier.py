"""What an earlier run of the same question was asked, so that a later one goes on from there."""

from __future__ import annotations

from typing import Any

from asterism.asking.request import VetRequest
from asterism.core.messages.errors import UserError
from asterism.vetting.certificate import read_certificate
from asterism.vetting.params import COUNTS, VetParams


def earlier_run(request: VetRequest, params: VetParams) -> VetParams | None:
    """What an earlier run was asked, where it is this question with counts of its own.

    Args:
        request: names the earlier run's certificate.
        params: what is asked now, with all counts that are wanted.

    Returns:
        None where the certificate is missing, of another version, or about something else.
    """
    if request.earlier is None or not request.earlier.is_file():
        return None
    try:
        certificate, earlier, _ = read_certificate(request.earlier)
    except UserError:
        return None
    if _question(earlier) != _question(params):
        return None
    if earlier.budget is None and earlier.counts() != params.counts():
        return None
    same = request.given.hashes(params.label_file) == certificate.sha256
    return earlier if same else None


def _question(params: VetParams) -> dict[str, Any]:
    """What is asked about a pair, but for its files' places, counts, and how it was settled."""
    asked = params.model_dump(
        mode="json",
        exclude={"original", "compressed", "inputs", "labels", "asked", "settled", "tried"},
    )
    for name in (*COUNTS, "budget"):
        *above, last = name.split(".")
        del (asked[above[0]] if above else asked)[last]
    return asked
