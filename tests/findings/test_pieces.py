"""A piece of a campaign, with workers and results that are made up."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from small_findings import facts

from asterism.config import compose_changed_params
from asterism.core.files.artifacts import read_json, write_json
from asterism.core.files.records import record_from
from asterism.core.parameters.params import validate
from asterism.core.settings.yaml_files import read_yaml
from asterism.differential.adapters.backend_names import REFERENCES
from asterism.differential.engine.inputs import OUTSIDE
from asterism.differential.engine.record import ExecutionRecord
from asterism.differential.engine.tasks import ExecutionOutcome
from asterism.differential.oracle.finding import SILENT_ACCEPTANCE, Finding
from asterism.differential.params import TriageSettings
from asterism.memo.graphs.coverage import coverage_of
from asterism.memo.universe.layers import universe
from collection import campaign, gathering
from collection.campaign import (
    EXCLUDED,
    FACTS,
    TAKEN,
    TRIAGED,
    pieces_of,
    run_piece,
    run_pieces,
)
from collection.pages import campaign_page
from collection.single_layers import single_layer_models
from libraries.small_results import made_result
from memo.small_graphs import branching
from places import ROOT

SETTINGS = {"outside_share": 0.5, "special_share": 0.25}
TOOK = {"seconds": 3600, "seconds_executing": 1, "processor_seconds": 1800}


def settings_with(*backends):
    document = read_yaml(ROOT / "params.yaml")
    document["execute"] |= {**SETTINGS, "backends": list(backends)}
    document["triage"]["known_issues"] = str(ROOT / "conf/known_issues.yaml")
    return validate(TriageSettings, {key: document[key] for key in TriageSettings.model_fields})


def record():
    """One model; all but one backend reject a layer of it that is just outside of what is valid."""
    given = {"jax:jit": [np.ones((2, 3), np.float32)]}
    for backend in ("pytorch:eager", "tensorflow:eager", *REFERENCES):
        given[backend] = ExecutionOutcome(0, backend, "build", "error", "ValueError", "no")
    kept = ExecutionRecord()
    kept.add([made_result(given, OUTSIDE)])
    return kept


def test_it_tries_the_shares_and_keeps_and_counts_what_stands_apart(tmp_path, monkeypatch):
    asked = []
    pool = SimpleNamespace(start=dict)
    monkeypatch.setattr(campaign, "open_worker_pool", lambda *_: nullcontext(pool))
    monkeypatch.setattr(campaign, "execute", lambda *given: (asked.append(given), record())[1])
    monkeypatch.setattr(campaign, "triage_and_write", lambda *_: {"unique": 0})
    run_piece({"a": branching()}, settings_with("jax:jit"), tmp_path / "piece", [])
    assert asked[0][-2:] == (0.25, 0.5)
    (value,) = read_json(tmp_path / "piece" / EXCLUDED)
    assert record_from(Finding, value).symptom == SILENT_ACCEPTANCE
    piece = read_json(tmp_path / "piece" / FACTS)
    assert piece["judged"]["apart"] == {SILENT_ACCEPTANCE: 1}
    text = campaign_page([], facts(pieces=[piece, {"models": 1, **TOOK}]))
    assert f"| {SILENT_ACCEPTANCE} | 1 |" in text


@pytest.fixture
def ran(monkeypatch):
    """The models of each piece that is run; what is there is called while the first one runs."""
    pieces, meanwhile = [], []

    def piece(models, settings, target, *_):
        pieces.append(tuple(models))
        while meanwhile:
            meanwhile.pop()()
        target.mkdir(parents=True)
        facts = {"names": list(models), "backends": list(settings.execute.backends)}
        write_json(target / FACTS, facts)

    monkeypatch.setattr(campaign, "run_piece", piece)
    monkeypatch.setattr(campaign, "read_unique", lambda _: [])
    return SimpleNamespace(pieces=pieces, meanwhile=meanwhile)


def test_a_model_runs_again_where_other_backends_are_asked_for(tmp_path, ran):
    models = {"a": branching(), "b": branching(), "c": branching()}
    eager, both = settings_with("pytorch:eager"), settings_with("pytorch:eager", "jax:jit")
    elsewhere = [{"piece": "piece-0000", "names": ["a"], "backends": ["pytorch:eager"]}]
    list(run_pieces(models, 1, eager, tmp_path, elsewhere))
    assert ran.pieces == [("b",), ("c",)]
    list(run_pieces(models, 3, both, tmp_path, elsewhere))
    list(run_pieces(models, 3, eager, tmp_path, elsewhere))
    assert ran.pieces[2:] == [("a", "b", "c")]


def test_folders_that_number_their_pieces_alike_are_all_counted(tmp_path):
    known = [{"piece": "piece-0000", "models": 5}]  # of before names were written down
    for folder, names in (("one", ["a"]), ("other", ["b"])):
        facts = {"names": names, "backends": ["jax:jit"], "models": 1}
        (tmp_path / folder / "piece-0001").mkdir(parents=True)
        write_json(tmp_path / folder / "piece-0001" / FACTS, facts)
    for folder in ("one", "other", "one"):
        known = pieces_of(tmp_path / folder, known)
    assert [piece["models"] for piece in known] == [5, 1, 1]


def test_processes_share_a_campaign(tmp_path, ran):
    given, settings = {name: branching() for name in "abcde"}, settings_with("pytorch:eager")
    ran.meanwhile.append(lambda: list(run_pieces(given, 2, settings, tmp_path)))  # another one
    list(run_pieces(given, 2, settings, tmp_path))
    assert ran.pieces == [("a", "b"), ("c", "d"), ("e",)]
    assert list((tmp_path / TAKEN).iterdir()) == []


def test_collecting_shows_how_far_it_is(tmp_path, monkeypatch):
    shown = []

    def progress(items, label, unit, total=None):
        shown.append((label, unit))
        return items

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(gathering, "progress", progress)
    monkeypatch.setattr(gathering, "import_keras", lambda _: None)
    piece = tmp_path / "pieces" / "piece-0000"
    (piece / TRIAGED).mkdir(parents=True)
    write_json(piece / TRIAGED / "unique.json", [])
    write_json(piece / FACTS, {"models": 2, "backends": ["jax:jit"], **TOOK})
    settings = compose_changed_params(TriageSettings, [])
    gathering.gather(settings, tmp_path / "findings", tmp_path / "pieces", [])
    units = {"reading": "piece", "collecting": "finding", "other versions": "finding"}
    assert dict(shown) == units
    assert [p["piece"] for p in gathering.facts_of(tmp_path / "findings")["pieces"]] == [piece.name]


def test_the_page_has_a_line_for_each_set_of_backends():
    ran = ((2, ["jax:jit"]), (3, ["jax:jit"]), (4, ["jax:jit", "pytorch:eager"]))
    pieces = [{"models": models, "backends": backends, **TOOK} for models, backends in ran]
    text = campaign_page([], facts(pieces=pieces))
    assert "| `jax:jit` | 5 | 2.00 | 1.00 |" in text
    assert "| `jax:jit`, `pytorch:eager` | 4 | 1.00 | 0.50 |" in text


@pytest.fixture(scope="module")
def models():
    return single_layer_models(0)


def test_every_declared_layer_has_a_model_of_its_own(models):
    assert {name.split()[0] for name in models} == set(universe())
    assert all(len(graph.layers) == 1 for graph in models.values())
    assert coverage_of(models.values()).rates()["types"] == 1


def test_the_first_models_are_one_of_each_layer_at_its_defaults(models):
    first = list(models.values())[: len(universe())]
    for graph in first:
        node = graph.nodes[graph.layers[0]]
        defaults = universe()[node.type].defaults()
        assert all(node.config[name] == value for name, value in defaults.items())


def test_an_option_is_the_only_one_that_is_off_its_default(models):
    for name, graph in models.items():
        layer, _, rest = name.partition(" ")
        parameter, equals, _ = rest.partition("=")
        if not equals:
            continue
        node = graph.nodes[graph.layers[0]]
        defaults = universe()[layer].defaults()
        off = {n for n, v in node.config.items() if n in defaults and v != defaults[n]}
        assert off <= {parameter}, name


def test_the_same_seed_gives_the_same_models(models):
    assert single_layer_models(0) == models != single_layer_models(1)
