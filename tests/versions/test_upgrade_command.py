"""The command with made-up workers: names of versions, facts and folders."""

import json
from contextlib import nullcontext
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from made_up_changes import made_change
from made_up_pool import PAIR, pool
from old_runtime import write_definition
from small_files import chain

from asterism.core.messages.errors import UserError
from asterism.differential.adapters.environments import environment
from asterism.differential.comparing import blaming, commands, comparison
from asterism.differential.comparing.blaming import ModelPart
from asterism.differential.comparing.commands import (
    OF_VERSIONS,
    compare_versions,
    generated_models,
)
from asterism.differential.comparing.comparison import BackendComparison, ComparisonRequest
from asterism.differential.comparing.naming import made, named_version, readers_of_version
from asterism.differential.comparing.upgrade import UpgradePair
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.subjects.onnx_file import subject_of


def request(project, **more):
    given = {
        "models": [],
        "shapes": {},
        "size": 4,
        "inputs": None,
        "distributions": ("normal",),
        "explained": 3,
        "steps": 50,
        "target": project / "page",
    }
    return ComparisonRequest(**(given | more))


def compared(project, *names, **more):
    """What the command finds in models of these names."""
    asked = request(project, models=[project / name for name in names], **more)
    return compare_versions(asked, "onnxruntime", ("0.1", "1"), print)


@pytest.fixture
def faulty(old_runtime, monkeypatch):
    """The command's workers, of which the old version computes Softplus wrongly."""
    workers = pool(lambda kinds: ("Softplus",))
    workers.start, workers.asked = dict, []

    def made(backends, limits):
        workers.asked += backends
        return nullcontext(workers)

    monkeypatch.setattr(commands, "WorkerPool", made)
    monkeypatch.setattr(
        comparison, "exit_statuses", lambda script, n, python: [int("@" in str(python))]
    )
    monkeypatch.setattr(comparison, "interpreter_of", lambda library: library)
    monkeypatch.setattr(commands, "pairs_of", lambda old, new: [PAIR])
    return workers


def test_an_upgrade_is_compared_and_explained(faulty, old_runtime):
    onnx.save(chain("Abs", "Softplus"), old_runtime / "off one.onnx")
    onnx.save(chain("Neg"), old_runtime / "good.onnx")
    models = "off one.onnx", "good.onnx"
    found = compared(old_runtime, *models)
    assert [(s.name, [c.kind for c in cs]) for s, cs in found.subjects] == [
        ("off one", ["now right"]),
        ("good", ["same"]),
    ]
    old, new = found.compared
    assert old.endswith(" 0.1.0") and new.endswith(f" {version('onnxruntime')}")
    assert found.versions[0] == {"onnxruntime": "0.1.0", "numpy": "1.23.5"}
    (one,) = found.rows
    assert one.part.layers == ["Softplus node1"] and one.confirmed
    assert one.statuses == {old: 1, new: 0}
    assert one.folder == "01-now-right-off-one"
    folder = old_runtime / "page"
    assert onnx.load(folder / one.folder / "model.onnx").graph.node[0].op_type == "Softplus"
    assert "is right)" in (folder / one.folder / "repro.py").read_text().splitlines()[0]
    assert (folder / "index.html").exists()
    facts = json.loads((folder / "changes.json").read_text())
    assert len(facts["models"]) == 2 and facts["findings"][0]["nodes"] == ["Softplus node1"]
    assert PAIR.old in faulty.asked and not any("tf2onnx" in b for b in faulty.asked)
    few = compared(old_runtime, *models, explained=0)
    assert [row.part for row in few.rows] == [None]


def test_a_backend_that_does_not_start_is_named(faulty, old_runtime):
    faulty.start = lambda: {PAIR.old: "no such file"}
    onnx.save(chain("Neg"), old_runtime / "m.onnx")
    with pytest.raises(UserError, match=r"onnxruntime@0\.1:file does not work: no such file"):
        compared(old_runtime, "m.onnx")
    assert not (old_runtime / "page").exists()


def test_a_way_to_run_files_that_one_version_lacks_is_left_out_and_named(
    faulty, old_runtime, monkeypatch
):
    lacking = UpgradePair(f"{PAIR.old}_layout", f"{PAIR.new}_layout")
    unread = UpgradePair(PAIR.old, "openvino:file")  # as of a file of another format
    monkeypatch.setattr(commands, "pairs_of", lambda old, new: [PAIR, lacking, unread])
    faulty.start = lambda: {lacking.old: "no level <LAYOUT>"}
    onnx.save(chain("Softplus"), old_runtime / "m.onnx")
    found = compared(old_runtime, "m.onnx")
    assert [c.pair for row in found.rows for c in row.changes] == [PAIR]
    assert found.rejected == [(f"all models in {lacking.old}", "no level <LAYOUT>")]
    page = (old_runtime / "page/index.html").read_text()
    assert f"all models in {lacking.old}: no level &lt;LAYOUT&gt;" in page


def test_names_of_versions(old_runtime):
    def name(library, which):
        return made(named_version(library, which, {".onnx"}), lambda _: None)

    installed = version("onnxruntime")
    for here in ("1", installed, ""):
        assert name("onnxruntime", here) == "onnxruntime"
    assert name("onnxruntime", "0.1") == "onnxruntime@0.1"
    with pytest.raises(UserError, match=r"no files are run by 'jax' \(known: .*onnxruntime") as e:
        name("jax", "1")
    assert "onnx_reference" not in str(e.value)


def test_a_package_reads_each_format_by_its_own_reader(old_runtime):
    def named(library, which, *formats):
        return readers_of_version(library, which, lambda _: None, formats)

    assert named("openvino", "onnxruntime@0.1", ".onnx") == {".onnx": "onnxruntime@0.1"}
    own = named("onnxruntime", "openvino", ".onnx", ".pt2")
    assert own == {".onnx": "openvino", ".pt2": "openvino_program"}
    torch = named("pytorch", version("torch").partition("+")[0], ".pt2")
    assert torch == {".pt2": "pytorch_program"}
    exported = named("onnx_program", version("torch").partition("+")[0], ".pt2")
    assert exported == {".pt2": "onnx_program"}
    write_definition(old_runtime, "pytorch@0.1")
    assert environment("pytorch_program@0.1") == environment("pytorch@0.1")


def test_own_inputs_are_for_own_models(project):
    subject, other = subject_of("own", chain("Neg"), 4, {}), subject_of("z", chain("Neg"), 4, {})
    np.savez(project / "batch.npz", x=np.ones((7, 4), np.float32))
    asked = request(project, models=[project / "own.onnx"], inputs=project / "batch.npz")
    (given,) = asked.inputs_of(subject, 3)["batch"]
    assert given.shape == (7, 4)
    drawn = asked.inputs_of(other, 3)
    assert list(drawn) == ["normal"]
    np.testing.assert_array_equal(drawn["normal"][0], other.draw(3, "normal")[0])
    asked = request(project, models=[project / "own.onnx"], distributions=("nan", "wide"))
    assert list(asked.inputs_of(subject, 3)) == ["nan", "wide"]


def test_facts():
    one = made_change("now wrong", excess=float("inf"))
    other = made_change("now runs", "f", inputs="wide", exception="A")
    subject = subject_of("m", chain("Neg"), 4, {})
    rest = {"rejected": [("bad", "why")], "subjects": [(subject, [one, other])]}
    found = BackendComparison(page=OF_VERSIONS, compared=("a", "b"), versions=({}, {}), **rest)
    row = found.rows[0]
    row.part = SimpleNamespace(layers=["Neg n"], nodes=1, finished=True)
    row.folder, row.statuses = "place", {"a": 0, "b": 1}
    facts = found.to_json()
    first, second = facts["findings"]
    assert facts["models"] == [{"name": "m", "nodes": 1, "statuses": {"file": "now wrong"}}]
    assert facts["versions"] == [{}, {}] and facts["libraries"] == ["a", "b"]
    assert facts["no_reference"] == {} and facts["rejected"] == [["bad", "why"]]
    assert first["old"] is None and first["new"] == ["values differ", 1e30]
    assert (first["nodes"], first["script"]) == (["Neg n"], "place/repro.py")
    assert first["statuses"] == {"a": 0, "b": 1} and second["said"] == "error: A"
    assert (second["model"], second["seen"]) == ("f", [["file", "wide"]])
    assert second["new"] is None and "nodes" not in second and "script" not in second


@pytest.mark.parametrize(
    ("kind", "facts", "said"),
    [
        ("now wrong", {}, "new: values differ in A, B, C (old is right)"),
        ("now right", {}, "old: values differ in A, B, C (new is right)"),
        ("both wrong", {"new": "wrong shape"}, "old: values differ in A, B, C (new)"),
        ("differs", {"old": "wrong shape"}, "old: wrong shape in A, B, C (new)"),
        ("no longer runs", {"new": "hang"}, "new: hang in A, B, C (old is right)"),
    ],
)
def test_headlines(monkeypatch, kind, facts, said):
    monkeypatch.setattr(blaming, "title_of", lambda library: "old" if "@" in library else "new")
    subject = SimpleNamespace(nodes=[SimpleNamespace(label=name) for name in "ABCD"])
    part = ModelPart(subject, [], made_change(kind, **facts), None, 4, finished=True)
    assert part.title == said


def test_generated_models_are_converted(monkeypatch):
    main = SimpleNamespace(
        broadest=lambda number: [5, 2][:number],
        mutants={i: SimpleNamespace(graph=f"graph {i}") for i in (2, 5)},
    )
    params = SimpleNamespace(seed=1, reduce=SimpleNamespace(), generate=SimpleNamespace())
    params.reduce.model_copy = params.generate.model_copy = lambda update: update
    params.generate.strategy = "main"
    monkeypatch.setattr(commands, "import_keras", lambda name: None)
    monkeypatch.setattr(commands, "reduce_models", lambda p, seed: SimpleNamespace(models=()))
    monkeypatch.setattr(commands, "generate", lambda *given, reward: {"main": main})
    files = {2: chain("Neg").SerializeToString()}
    failed = ExecutionOutcome(5, "tf2onnx", "convert", "error", "a.B", "why")
    workers = SimpleNamespace(converted=lambda task, converter: files.get(task.index, failed))
    rejected = []
    (made,) = generated_models(2, 4, params, workers, rejected)
    assert made.name == "generated 00002" and made.inputs[0].shape == (2, 4)
    assert rejected == [("generated 00005", "tf2onnx: a.B why")]
