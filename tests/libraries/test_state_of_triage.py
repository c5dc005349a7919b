"""Where triage remembers: by all that shrinking depends on, and by no budget."""

import pytest

from asterism.core.parameters.params import validate
from asterism.core.settings.yaml_files import read_yaml
from asterism.differential.oracle.finding import Finding
from asterism.differential.triage.params import TriageSettings
from asterism.differential.triage.remembering import remembered, triage_run
from asterism.differential.triage.unique import UniqueFinding
from asterism.memo.graphs.store import write_weights
from libraries.test_shrinking import straight
from places import ROOT

FOUND = UniqueFinding(
    "error | jax",
    Finding(0, "error", "run", "jax", ("jax:jit",), ("normal",)),
    straight(["Dense"]),
    None,
    {0},
    1,
)


@pytest.fixture
def given(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    weights = tmp_path / "weights.npz"
    write_weights(weights, {})
    document = read_yaml(ROOT / "params.yaml")
    fields = TriageSettings.model_fields
    return weights, validate(TriageSettings, {key: document[key] for key in fields})


def changed(settings, section, **values):
    """Settings with other values in a section."""
    other = getattr(settings, section).model_copy(update=values)
    return settings.model_copy(update={section: other})


def test_a_larger_budget_finds_what_a_smaller_one_left(given):
    weights, settings = given
    run = triage_run(*given)
    for budget in ({"max_steps": 1}, {"minutes": 1.5}, {"max_unique": 1}, {"replays": 0}):
        assert triage_run(weights, changed(settings, "triage", **budget)) == run
    other = changed(settings, "execute", distributions=["normal"])
    assert triage_run(weights, other) == run, "findings name theirs"


def test_other_workers_seeds_and_tolerances_find_nothing(given, tmp_path, monkeypatch):
    weights, settings = given
    other_weights = tmp_path / "other.npz"
    other_weights.write_bytes(weights.read_bytes() + b"\0")
    fewer = changed(settings, "execute", backends=settings.execute.backends[1:])
    runs = [
        triage_run(*given),
        triage_run(other_weights, *given[1:]),
        triage_run(weights, fewer),
        triage_run(weights, changed(settings, "execute", memory_mb=9)),
        triage_run(weights, changed(settings, "judge", ulps=9)),
        triage_run(weights, changed(settings, "triage", hang_seconds=9)),
        triage_run(weights, settings.model_copy(update={"seed": settings.seed + 1})),
    ]
    named = "asterism.differential.triage.remembering.installed_versions"
    monkeypatch.setattr(named, lambda: {"jax": "0"})
    runs.append(triage_run(*given))
    monkeypatch.undo()
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    runs.append(triage_run(*given))
    assert len({run.key for run in runs}) == len(runs)


def test_nobody_removes_what_is_in_use_and_it_is_there_afterwards(given):
    run = triage_run(*given)
    with remembered(run) as memory:
        assert memory.shrunk(["finding"], 3, lambda: (FOUND, True)) is FOUND
        assert run.is_in_use() and not run.remove()
    with remembered(run) as memory:
        assert memory.shrunk(["finding"], 5, None) == FOUND
    assert run.units() == [] and run.damaged() == [] and run.remove()
