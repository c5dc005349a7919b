"""Collected findings that tests make up: scripts that end as they are told to."""

from collection.entry import CollectedFinding
from collection.occurrences import Candidate
from libraries.small_results import chained, made_finding
from memo.small_graphs import layer

#: The model of every finding.
GRAPH = chained((3,), layer("ReLU"))
#: A script that ends as it is told to.
SCRIPT = "import sys\nprint('expected 1')\nprint('actual   2')\nsys.exit({status})\n"


def facts(**given):
    """What campaigns took, as a collection knows it."""
    return {
        "pieces": [],
        "coverage": {"types": 0.5, "parameters": 0.25, "inputs": 0.1},
        "counts": {"merged": 2, "limits": 3, "unconfirmed": 1, "large": 0},
        "operators": {"models": 429},
        **given,
    }


def entry(name="one", **given):
    facts = {
        "source": "layer",
        "signature": f"values differ | jax | {name}",
        "library": "jax",
        "symptom": "values differ",
        "severity": "normal",
        "inputs": "normal",
        "layer": "ReLU",
        "parameters": {},
        "backends": ("jax:jit",),
        "right": ("pytorch:eager",),
        "versions": {"jax": "0.1"},
        "models": 1,
        "finding": made_finding().to_json(),
    }
    return CollectedFinding(name, **{**facts, **given})


def listed(name="one", **given):
    """A finding as a list of unique findings has it, with its script in the folder of its name."""
    facts = {
        "signature": f"values differ | jax | {name}",
        "folder": name,
        "limit": "",
        "known": "",
        "confirmed": [1, 1, 1],
        "finding": made_finding().to_json(),
        "graph": GRAPH.to_json(),
        "layer": "",
        "models": [0],
        "minimality": "minimal",
    }
    return {**facts, **given}


def candidate(folder, name="one", status=1, text=SCRIPT, **given):
    """A finding with a folder of its own."""
    place = folder / name
    place.mkdir(parents=True)
    (place / "repro.py").write_text(text.replace("{status}", str(status)))
    return Candidate(entry(name, **given), place)
