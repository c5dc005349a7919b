"""A piece of a campaign, with workers and results that are made up."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np

from asterism.core.files.artifacts import read_json
from asterism.core.parameters.params import validate
from asterism.core.settings.yaml_files import read_yaml
from asterism.findings import campaign
from asterism.findings.campaign import APART, FACTS, Settings, run_piece
from asterism.findings.page import campaign_page
from asterism.libraries.adapters.backends import REFERENCES
from asterism.libraries.judging.finding import SILENT_ACCEPTANCE, Finding
from asterism.libraries.running.inputs import OUTSIDE
from asterism.libraries.running.outcomes import ExecutionOutcome
from asterism.libraries.running.record import Record
from asterism.libraries.running.tasks import Result
from memo.small_graphs import branching
from places import ROOT

SETTINGS = {"outside_share": 0.5, "special_share": 0.25}


def record():
    """One model; all but one backend reject a layer of it that is just outside of what is valid."""
    made = Result(0, (OUTSIDE,))
    for backend in ("jax:jit", "pytorch:eager", "tensorflow:eager", *REFERENCES):
        status = "ok" if backend == "jax:jit" else "error"
        made.outcomes[backend] = ExecutionOutcome(0, backend, "build", status, "ValueError", "no")
    made.outputs["jax:jit"] = {OUTSIDE: [np.ones((2, 3), np.float32)]}
    kept = Record()
    kept.add(branching(), [made])
    return kept


def test_it_tries_the_shares_and_keeps_and_counts_what_stands_apart(tmp_path, monkeypatch):
    asked = []
    pool = SimpleNamespace(start=dict)
    monkeypatch.setattr(campaign, "open_worker_pool", lambda *_: nullcontext(pool))
    monkeypatch.setattr(campaign, "execute", lambda *given: (asked.append(given), record())[1])
    monkeypatch.setattr(campaign, "write_triaged", lambda *_: {"unique": 0})
    document = read_yaml(ROOT / "params.yaml")
    document["execute"] |= SETTINGS
    document["triage"]["known_issues"] = str(ROOT / "conf/known_issues.yaml")
    settings = validate(Settings, {key: document[key] for key in Settings.model_fields})
    run_piece({"a": branching()}, settings, tmp_path / "piece", [])
    assert asked[0][-2:] == (0.25, 0.5)
    (value,) = read_json(tmp_path / "piece" / APART)
    assert Finding.from_json(value).symptom == SILENT_ACCEPTANCE
    piece = read_json(tmp_path / "piece" / FACTS)
    assert piece["judged"]["apart"] == {SILENT_ACCEPTANCE: 1}
    facts = {
        "pieces": [piece, {"models": 1, "seconds": 1, "seconds_executing": 1, "processor_seconds": 1}],
        "counts": {"merged": 0, "limits": 0, "unconfirmed": 0, "large": 0},
        "coverage": {"types": 0.5, "parameters": 0.25, "inputs": 0.1},
        "operators": {"models": 0},
    }
    text = campaign_page([], {}, facts)
    assert f"| {SILENT_ACCEPTANCE} | 1 |" in text
