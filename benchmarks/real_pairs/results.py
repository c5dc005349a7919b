"""What vetting the real pairs found: a small committed file each, and their page of the docs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from asterism.core.files.artifacts import read_json, write_json
from asterism.core.messages.errors import reading
from asterism.reproduction.page import wrapped
from asterism.sweep.point import VETTED
from asterism.vetting.params import CERTIFICATE, VetParams
from real_pairs.entry import RealPair, packages, packages_of

#: Where the results and their page lie in the project.
RESULTS, PAGE = Path("results/pairs"), Path("docs/pairs.md")
#: Where the part of the page begins that is written by this module.
_MARK = "<!-- All below is written by `python benchmarks/real_pairs --write`. -->\n"
#: Stages that a pair is vetted by.
_STAGES = {"vet_measure", "vet_search", "vet_repair", "vet_page"}
#: Figures of the agreement and of a repair that are kept.
_AGREEMENT = ("differ", "failed", "accuracy", "distance")
_REPAIR = (
    "quantised_nodes", "evaluations", "deviating_inputs", "nodes_in_float", "float_share",
    "nodes_with_finer_scales", "bits", "nodes_with_finest_weights",
    "gone", "expected", "gone_held_out", "differ_before", "agreement_fell",
    "bytes", "blamed", "reason",
)  # fmt: skip


def read_results(folder: Path = RESULTS) -> dict[str, Any]:
    """All results, by the pair's name.

    Raises:
        UserError: a file is damaged.
    """
    return {path.stem: read_json(path) for path in sorted(folder.glob("*.json"))}


def write_result(name: str, point: Path, params: VetParams, folder: Path = RESULTS) -> None:
    """Keep what a vetted pair's certificate says, without paths of this machine.

    Args:
        name: the pair's.
        point: the folder of the experiment, with ``record.json`` and the certificate.
        params: the pair's files.
        folder: of results.

    Raises:
        UserError: certificate or record are missing or damaged.
    """
    certificate = read_json(point / VETTED.name / CERTIFICATE)
    record = read_json(point / "record.json")
    target = folder / f"{name}.json"
    with reading(f"the certificate of {name}"):
        measured, repair = certificate["measured"], certificate["repair"]
        unseen = {"differ": repair["agreement"]["differ"]} if "agreement" in repair else {}
        result = {
            **{key: certificate[key] for key in ("verdict", "sha256", "versions")},
            **{key: measured["agreement"][key] for key in _AGREEMENT},
            "flips": measured["flips"],
            "searches": {
                name: {key: value for key, value in found.items() if _is_number(value)}
                for name, found in certificate["searches"].items()
            },
            "repair": {key: repair[key] for key in _REPAIR if key in repair} | unseen,
            "bytes": [Path(path).stat().st_size for path in (params.original, params.compressed)],
            "seconds": _seconds(record, target),
        }
    write_json(target, result)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _seconds(record: Any, target: Path) -> float | None:
    """What all stages took; where some came from the cache, what they took before."""
    if set(record["ran"]) >= _STAGES:
        return round(float(record["seconds"]), 1)
    known = read_json(target)["seconds"] if target.exists() else None
    return None if known is None else float(known)


def page(text: str, pairs: Mapping[str, RealPair], results: Mapping[str, Any]) -> str:
    """The page's text with current results.

    Args:
        text: the page as it is.
        pairs: all pairs of the registry, by name.
        results: of :func:`read_results`.
    """
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"percent": lambda share, digits=0: f"{share:.{digits}%}"}
    templates.filters |= {"wrapped": wrapped, "packages": packages_of}
    written = templates.get_template("page.md.j2").render(
        pairs=pairs, results=results, packages=packages()
    )
    return text.partition(_MARK)[0] + _MARK + written
