"""Get the real pairs, vet one after the other, and write their page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from asterism.asking.question import ResolvedQuestion
from asterism.core.files.artifacts import read_json
from asterism.core.files.interrupts import INTERRUPTED
from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import say
from asterism.core.settings.yaml_files import parse_yaml
from asterism.sweep.app import sweep_command
from asterism.sweep.point import VETTED
from asterism.sweep.worker import SweepRequest
from asterism.vetting.opening import GivenPair
from asterism.vetting.params import CERTIFICATE, VetParams
from real_pairs.entry import RealPair, packages_of, pair_names, read_pair
from real_pairs.preparing import prepare
from real_pairs.results import PAGE, page, read_results, write_result
from real_pairs.wheels import fetch_wheels, missing_wheels


def list_pairs() -> None:
    """Say what pairs there are, and what is there of each."""
    for name in pair_names():
        pair = read_pair(name)
        say(f"{name}: {pair.title}, {pair.compression}; {_state(name, pair)}")


def fetch_pairs(names: Sequence[str]) -> None:
    """Get the wheels of all pairs, or of those that are named.

    Raises:
        UserError: see :func:`~real_pairs.wheels.fetch_wheels`.
    """
    wanted = [package for name in names or pair_names() for package in packages_of(read_pair(name))]
    for path in fetch_wheels(wanted):
        say(f"got {path}")
    say("all wheels are there")


def vet_pairs(names: Sequence[str], write: bool) -> int:
    """Vet pairs, one after the other; those whose certificate is there and about them are done.

    Args:
        names: which ones; none for all.
        write: also write ``results/pairs/NAME.json`` of those that were vetted, and the page.

    Returns:
        The process's exit status: 1 where a pair failed, else 0.
    """
    chosen = {name: read_pair(name) for name in names or pair_names()}
    failed = [name for name, pair in chosen.items() if not _vet(name, pair, write)]
    if write:
        pairs = {name: read_pair(name) for name in pair_names()}
        before = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(page(before, pairs, read_results()), encoding="utf-8")
        say(f"{PAGE} is written")
    if failed:
        say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def _vet(name: str, pair: RealPair, write: bool) -> bool:
    """Vet one pair; whether it was vetted."""
    try:
        ready = prepare(name, pair, Path("conf"))
    except UserError as error:
        say(f"{name}: {error}")
        return False
    assert ready.params is not None, "nothing is open"
    point = _point(name)
    if _is_current(point, ready.params):
        say(f"{name}: vetted already, {point / VETTED.name / 'index.html'}")
    elif not _run(name, ready):
        return False
    verdict = read_json(point / VETTED.name / CERTIFICATE)["verdict"]
    say(f"{name}: {verdict['word']}")
    if write:
        write_result(name, point, ready.params)
    return True


def _run(name: str, ready: ResolvedQuestion) -> bool:
    for line in ready.said:
        say(f"{name}: {line}")
    request = SweepRequest(overrides=ready.overrides, targets=["vet_page"], name=f"pair-{name}")
    status = sweep_command(request, False, lambda line: say(f"{name}: {line}"))
    if status == INTERRUPTED:  # it ends the pairs that would follow too
        raise KeyboardInterrupt
    return status == 0


def _point(name: str) -> Path:
    return Path("sweeps") / f"pair-{name}" / "points" / "0000"


def _is_current(point: Path, params: VetParams) -> bool:
    """Whether a certificate is there, about these files and parameters."""
    path = point / VETTED.name / CERTIFICATE
    if not path.exists():
        return False
    told = read_json(path)
    same = told["sha256"] == GivenPair.by_files(params).hashes(params.label_file)
    parameters = parse_yaml(told["parameters"], str(path))
    return bool(same and parameters == params.model_dump(mode="json"))


def _state(name: str, pair: RealPair) -> str:
    if (_point(name) / VETTED.name / CERTIFICATE).exists():
        return "vetted"
    missing = missing_wheels(packages_of(pair))
    return f"without the wheel of {', '.join(missing)} (--fetch)" if missing else "ready"
