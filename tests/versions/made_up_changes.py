"""Changes of every kind, as the judge would give them."""

from asterism.comparing.cases import UpgradeChange
from libraries.small_results import made_finding
from versions.made_up_pool import PAIR

#: What the old and the new version do, by the kind of the change.
STATUSES = {
    "no longer runs": ("right", "error"),
    "now wrong": ("right", "values differ"),
    "differs": ("values differ", "right"),
    "both wrong": ("values differ", "values differ"),
    "now right": ("values differ", "right"),
    "now runs": ("error", "right"),
    "neither runs": ("error", "error"),
    "within rounding": ("right", "right"),
    "same": ("right", "right"),
}


def made_change(kind="now wrong", subject="m", pair=PAIR, inputs="normal", **more):
    """A change of a kind.

    Args:
        kind: of it.
        subject: name of the model.
        pair: backends.
        inputs: kind of inputs.
        more: ``old`` and ``new`` in place of the usual statuses; ``excess``, ``exception`` and
            ``message`` of the version at fault; other fields of the change.
    """
    facts = {n: more.pop(n) for n in ("excess", "exception", "message") if n in more}
    old, new = (more.pop(n, s) for n, s in zip(("old", "new"), STATUSES[kind], strict=True))
    made = [
        made_finding(status, backend, inputs, **({} if status == "right" else facts))
        for status, backend in ((old, pair.old), (new, pair.new))
    ]
    more = {"referee": pair.new} | more if kind == "differs" else more
    more = {"outputs": kind} | more if kind in ("same", "within rounding") else more
    change = UpgradeChange(subject, *made, **more)
    assert change.kind == kind
    return change
