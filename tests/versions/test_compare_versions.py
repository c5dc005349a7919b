"""The whole command, with an old runtime that has known faults."""

import json
from importlib.metadata import version

import numpy as np
import onnx
import pytest
from old_runtime import install
from small_files import chain, onnx_model
from small_programs import save_pooling
from typer.testing import CliRunner

from asterism.cli.commands import app
from asterism.core.messages.errors import UserError


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


def compare(*arguments):
    return CliRunner().invoke(app, ["compare-versions", "onnxruntime", *arguments])


@pytest.mark.slow
def test_an_upgrade_is_explained(old_runtime, models):
    done = compare("0.1", "1", *models, "--distribution", "normal", "--target", "page")
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
    worse = compare("1", "0.1", *models, "--target", "back", "--explain", "0")
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
            "are both the onnxruntime that is here",
        ),
        (["0.1", "1", "--model", "none.onnx"], "there is no model file none.onnx"),
        (["0.1", "1", "--model", "sound.onnx", "--distribution", "odd"], "called 'odd'"),
        (["0.1", "1", "--model", "sound.onnx", "--input-shape", "x=9,9"], "has the shape"),
    ],
)
def test_errors_are_one_line(old_runtime, models, arguments, said):
    done = compare(*arguments)
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


@pytest.mark.slow
def test_the_faulty_node_is_named_and_not_the_one_that_makes_it_large(old_runtime):
    nodes = [
        ("Softplus", ["x"], ["a"], {}),
        ("Mul", ["a", "k"], ["b"], {}),
        ("Add", ["b", "x"], ["y"], {}),
    ]
    model = onnx_model(nodes, [("x", (2, 3))], ["y"], {"k": np.float32(1000).reshape(1)})
    onnx.save(model, old_runtime / "m.onnx")
    done = compare("0.1", "1", "--model", "m.onnx", "--distribution", "normal", "--target", "p")
    found = json.loads((old_runtime / "p/changes.json").read_text())
    assert done.exit_code == 0
    assert {tuple(c["nodes"]) for c in found["findings"]} == {("Softplus node0",)}


@pytest.mark.slow
def test_a_program_is_compared_as_an_onnx_file_is(project):
    save_pooling(project / "pooling.pt2")
    own = version("torch").partition("+")[0]
    given = ["--model", "pooling.pt2", "--distribution", "normal", "--size", "9", "--explain", "1"]
    done = CliRunner().invoke(app, ["compare-versions", "pytorch", own, "openvino", *given])
    assert done.exit_code == 1, done.output
    folder = project / f"compare-versions/pytorch-{own}-openvino"
    found = json.loads((folder / "changes.json").read_text())
    (wrong,) = (row for row in found["findings"] if row["kind"] == "now wrong")
    assert wrong["nodes"] == ["aten.avg_pool2d avg_pool2d"]
    assert list(wrong["statuses"].values()) == [1] and ["file", "normal"] in wrong["seen"]
    assert (folder / wrong["script"]).with_name("model.pt2").exists()
