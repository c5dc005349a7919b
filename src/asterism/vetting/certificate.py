"""Whether a certificate of a vetted pair still holds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_json
from asterism.core.messages.errors import reading
from asterism.core.parameters.params import validate
from asterism.core.settings.yaml_files import parse_yaml
from asterism.vetting.measurement import measure
from asterism.vetting.params import VetParams
from asterism.vetting.repairing import repair
from asterism.vetting.searching import search

#: Relative difference of numbers that another version of a library may make.
_TOLERANCE = 1e-3


def check_certificate(path: Path) -> list[str]:
    """Measure, search and repair again, and compare with what a certificate says.

    Args:
        path: ``certificate.json``.

    Returns:
        What differs, one line each; nothing where the certificate holds.

    Raises:
        UserError: the certificate is damaged, or a file that it is about is missing.
    """
    told = read_json(path)
    with reading(f"the certificate {path}"):
        params = validate(VetParams, parse_yaml(told["parameters"], str(path)), source=str(path))
        seed, hashes = int(told["seed"]), dict(told["sha256"])
        expected = {name: told[name] for name in ("measured", "searches", "repair")}
    changed = [
        f"{name}: {getattr(params, name)} is another file than the certificate is about"
        for name, found in params.hashes().items()
        if found != hashes.get(name)
    ]
    if changed:
        return changed
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            "measured": measure(params, seed, folder / "measured"),
            "searches": search(params, seed, folder / "found"),
            "repair": repair(params, seed, folder / "found/triggers.npz", folder / "repaired"),
        }
    return list(_differences(expected, found, ""))


def _differences(told: Any, found: Any, place: str) -> Iterator[str]:
    """Where two JSON values differ by more than rounding."""
    if isinstance(told, dict) and isinstance(found, dict):
        for key in sorted(told.keys() | found.keys()):
            yield from _differences(told.get(key), found.get(key), f"{place}{key}.")
    elif isinstance(told, list) and isinstance(found, list) and len(told) == len(found):
        for number, (one, other) in enumerate(zip(told, found, strict=True)):
            yield from _differences(one, other, f"{place}{number}.")
    elif not _alike(told, found):
        yield f"{place.rstrip('.')}: {told} in the certificate, {found} now"


def _alike(told: Any, found: Any) -> bool:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (told, found))
    if not numbers:
        return bool(told == found)
    return bool(abs(told - found) <= _TOLERANCE * max(abs(told), abs(found)))
