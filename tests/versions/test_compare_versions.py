"""Two versions of a library: the command, with made-up workers and with an old runtime."""

import json
from contextlib import nullcontext
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from made_up_pool import PAIR, pool
from old_runtime import install, write_definition
from small_files import chain
from typer.testing import CliRunner

from asterism.cli.commands import app
from asterism.comparing import commands, running
from asterism.comparing.cases import UpgradePair
from asterism.comparing.commands import compare_versions, generate_model_files
from asterism.comparing.comparison import ComparisonRequest
from asterism.comparing.libraries import (
    ensure_environment,
    ensure_readers,
    named_version,
)
from asterism.core.messages.errors import UserError
from asterism.differential.adapters.environments import read_environment
from asterism.differential.engine.tasks import ExecutionOutcome
from asterism.differential.subjects.onnx_file import make_subject


@pytest.fixture
def models(project):
    files = {
        "faulty": chain("Abs", "Sqrt", "Softplus", "Neg"),
        "rejected": chain("Abs", "Elu", "Neg"),
        "sound": chain("Abs", "Neg"),
    }
    for name, model in files.items():
        onnx.save(model, project / f"{name}.onnx")
    return [part for name in files for part in ("--model", f"{name}.onnx")]


def call(*arguments):
    return CliRunner().invoke(app, ["compare-versions", "onnxruntime", *arguments])


@pytest.mark.slow
def test_an_upgrade_is_explained(old_runtime, models):
    done = call("0.1", "1", *models, "--distribution", "normal", "--target", "page")
    assert done.exit_code == 0, done.output  # nothing is worse than before
    assert "2 of 3 models change" in done.output
    found = json.loads((old_runtime / "page/changes.json").read_text())
    faulty, rejected = found["findings"]
    assert (faulty["model"], rejected["model"]) == ("faulty", "rejected")
    assert faulty["kind"] == "now right" and faulty["nodes"] == ["Softplus node2"]
    assert faulty["old"][0] == "values differ" and faulty["new"] is None
    assert rejected["kind"] == "now runs" and rejected["nodes"] == ["Elu node1"]
    for row in (faulty, rejected):
        assert {"file", "file_optimised"} <= {way for way, _ in row["seen"]}
        assert list(row["statuses"].values()) == [1, 0]
    script = (old_runtime / "page" / faulty["script"]).read_text()
    assert "Softplus" in script and "asterism" not in script  # the part as text
    page = (old_runtime / "page/index.html").read_text()
    assert "Softplus node2" in page and "Elu breaks this runtime" in page
    worse = call("1", "0.1", *models, "--target", "back", "--explain", "0")
    assert worse.exit_code == 1
    found = json.loads((old_runtime / "back/changes.json").read_text())
    assert {c["kind"] for c in found["findings"]} == {"now wrong", "no longer runs"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["1", "1"], "give --model FILE"),
        (["0.7", "1", "--model", "sound.onnx"], "there is no environment 'onnxruntime@0.7'"),
        (
            ["1", version("onnxruntime"), "--model", "sound.onnx"],
            "both name the onnxruntime that is installed",
        ),
    ],
)
def test_errors_are_one_line(old_runtime, models, arguments, said):
    done = call(*arguments)
    assert isinstance(done.exception, UserError), done.output
    assert said in str(done.exception) and "\n" not in str(done.exception)


def test_libraries_that_read_no_files_are_rejected(project, models):
    done = CliRunner().invoke(app, ["compare-versions", "jax", "1", "2", "--model", "sound.onnx"])
    assert "no files are run by 'jax'" in str(done.exception)


def test_environments_are_listed(project):
    listed = CliRunner().invoke(app, ["environments"]).output
    assert listed == "onnxruntime@0.1: not made, about 1 MB to download and 2 MB of disk\n"
    install(project)
    assert CliRunner().invoke(app, ["environments"]).output == "onnxruntime@0.1: made\n"
    both = CliRunner().invoke(app, ["environments", "onnxruntime@0.1", "--make", "--remove"])
    assert "not both" in str(both.exception)


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
        running, "exit_statuses", lambda script, n, python: [int("@" in str(python))]
    )
    monkeypatch.setattr(running, "interpreter_of", lambda library: library)
    monkeypatch.setattr(commands, "find_upgrade_pairs", lambda old, new: [PAIR])
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


@pytest.mark.parametrize("version", ["old", "new"])
def test_a_way_to_run_files_is_missed_in_the_new_version_and_new_where_the_old_one_lacks_it(
    version, faulty, old_runtime, monkeypatch
):
    layout = UpgradePair(f"{PAIR.old}_layout", f"{PAIR.new}_layout")
    lacking = getattr(layout, version)
    unread = UpgradePair(PAIR.old, "openvino:file")  # as of a file of another format
    monkeypatch.setattr(commands, "find_upgrade_pairs", lambda old, new: [PAIR, layout, unread])
    faulty.start = lambda: {lacking: "no level <LAYOUT>"}
    onnx.save(chain("Neg"), old_runtime / "m.onnx")
    found = compared(old_runtime, "m.onnx")
    assert [set(kinds) for _, kinds in found.worst()] == [{PAIR.option}]
    is_lost = version == "new"
    assert found.is_bad == is_lost
    assert found.rejected == [(f"all models in {lacking}", "no level <LAYOUT>")] * is_lost
    assert found.left_out == ({} if is_lost else {lacking: "no level <LAYOUT>"})
    page = (old_runtime / "page/index.html").read_text()
    assert f"{lacking}: no level &lt;LAYOUT&gt;" in page


def test_names_of_versions(old_runtime):
    def name(library, which):
        return ensure_environment(named_version(library, which, {".onnx"}), lambda _: None)

    installed = version("onnxruntime")
    for here in ("1", installed, ""):
        assert name("onnxruntime", here) == "onnxruntime"
    assert name("onnxruntime", "0.1") == "onnxruntime@0.1"
    with pytest.raises(UserError, match=r"no files are run by 'jax' \(known: .*onnxruntime") as e:
        name("jax", "1")
    assert "onnx_reference" not in str(e.value)


def test_a_package_reads_each_format_by_its_own_reader(old_runtime):
    def named(library, which, *formats):
        return ensure_readers(library, which, lambda _: None, formats)

    assert named("openvino", "onnxruntime@0.1", ".onnx") == {".onnx": "onnxruntime@0.1"}
    own = named("onnxruntime", "openvino", ".onnx", ".pt2")
    assert own == {".onnx": "openvino", ".pt2": "openvino_program"}
    torch = named("pytorch", version("torch").partition("+")[0], ".pt2")
    assert torch == {".pt2": "pytorch_program"}
    exported = named("onnx_program", version("torch").partition("+")[0], ".pt2")
    assert exported == {".pt2": "onnx_program"}
    write_definition(old_runtime, "pytorch@0.1")
    assert read_environment("pytorch_program@0.1") == read_environment("pytorch@0.1")


def test_own_inputs_are_for_own_models(project):
    subject, other = (
        make_subject("own", chain("Neg"), 4, {}),
        make_subject("z", chain("Neg"), 4, {}),
    )
    np.savez(project / "batch.npz", x=np.ones((7, 4), np.float32))
    asked = request(project, models=[project / "own.onnx"], inputs=project / "batch.npz")
    (given,) = asked.inputs_of(subject, 3)["batch"]
    assert given.shape == (7, 4)
    drawn = asked.inputs_of(other, 3)
    assert list(drawn) == ["normal"]
    np.testing.assert_array_equal(drawn["normal"][0], other.draw(3, "normal")[0])
    asked = request(project, models=[project / "own.onnx"], distributions=("nan", "wide"))
    assert list(asked.inputs_of(subject, 3)) == ["nan", "wide"]


def test_generated_models_are_converted(monkeypatch):
    main = SimpleNamespace(
        choose_broadest=lambda number: [5, 2][:number],
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
    (made,) = generate_model_files(2, 4, params, workers, rejected)
    assert made.name == "generated 00002" and made.inputs[0].shape == (2, 4)
    assert rejected == [("generated 00005", "tf2onnx: a.B why")]
