"""The command that runs a user's files in every library, with real libraries and their faults."""

import json
import os
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from made_up_pool import PAIR, pool
from small_files import chain, onnx_model
from small_programs import save_pooling
from typer.testing import CliRunner

from asterism.cli.commands import app
from asterism.comparing import blaming, commands, comparison, running
from asterism.comparing.libraries import file_options_of
from asterism.core.files.artifacts import read_json
from asterism.core.messages.errors import UserError
from asterism.differential.adapters.backend_names import OF_ONNX
from asterism.differential.engine.tasks import ExecutionOutcome
from libraries.small_runs import python
from places import ROOT

REDUCED = {"axes": [1], "keepdims": 1}


def compare(*arguments):
    return CliRunner().invoke(app, ["compare-libraries", *arguments])


def compared(*more, status=1, target="", **models):
    """What the command says and writes of models with ordinary inputs."""
    for name, model in models.items():
        onnx.save(model, f"{name}.onnx")
    given = [part for name in models for part in ("--model", f"{name}.onnx")]
    given += ["--target", target] if target else []
    done = compare(*more, *given, "--distribution", "normal")
    assert done.exit_code == status, done.output
    return done.output, read_json(Path(target or "compare-libraries", "findings.json"))


def faulty_model():
    """OpenVINO gives ReduceLogSumExp a wrong shape where its axes are an attribute."""
    nodes = [
        ("Abs", ["x"], ["a"], {}),
        ("ReduceLogSumExp", ["a"], ["b"], REDUCED),
        ("Neg", ["b"], ["y"], {}),
    ]
    return onnx_model(nodes, [("x", ("batch", "length", 4))], ["y"])


@pytest.mark.slow
def test_a_library_that_is_wrong_is_named_with_the_node_and_a_script(project):
    models, folder = {"faulty": faulty_model(), "sound": chain("Abs", "Sqrt")}, "compare-libraries"
    told, found = compared("--input-shape", "faulty/x=2,3,4", **models)
    assert "1 of 2 models show a fault" in told
    (fault,) = found["findings"]
    assert (fault["model"], fault["library"], fault["kind"]) == (
        "faulty",
        "openvino",
        "wrong shape",
    )
    assert {way for way, _ in fault["seen"]} == {f"openvino:file{e}" for e in ("", "_f16", "_bf16")}
    assert fault["nodes"] == ["ReduceLogSumExp node1"] and fault["of"] == 3
    assert list(fault["statuses"].values()) == [1]
    assert python(project / folder / fault["script"]).returncode == 1
    faulty, sound = (model["statuses"] for model in found["models"])
    assert set(sound.values()) == {"right"}
    for backend in ("onnxruntime:file", "onnxruntime:file_optimised", "onnx2torch:file"):
        assert faulty[backend] == "right"
    page = (project / folder / "index.html").read_text()
    assert "ReduceLogSumExp node1" in page and fault["script"] in page


@pytest.mark.slow
def test_a_program_runs_as_it_is_in_every_library_that_reads_it(project):
    save_pooling(project / "pooling.pt2")
    _, found = compared("--model", "pooling.pt2", "--size", "9")
    (model,) = found["models"]
    assert found["left_out"] == {} and set(model["statuses"]) == {
        *(f"pytorch_program:file{e}" for e in ("", "_aot", "_compile", "_compile_dynamic")),
        *(f"openvino_program:file{e}" for e in ("", "_f16", "_bf16")),
        *(f"onnx_program:file{e}" for e in ("", "_optimised")),
    }
    wrong = {backend for backend, kind in model["statuses"].items() if kind != "right"}
    assert wrong == {"openvino_program:file"}  # the other two round so that it does not show
    (fault,) = found["findings"]
    assert fault["library"] == "openvino_program" and fault["kind"] == "values differ"
    assert fault["nodes"] == ["aten.avg_pool2d avg_pool2d"] and fault["of"] == 6
    assert list(fault["statuses"].values()) == [1]
    script = project / "compare-libraries" / fault["script"]
    assert script.with_name("model.pt2").exists()


@pytest.fixture
def workers(project, monkeypatch):
    """Made-up workers, of which one computes Softplus wrongly."""
    monkeypatch.setattr(commands, "_libraries", lambda *given: ["onnxruntime"])
    for module in (commands, comparison, running, blaming):
        monkeypatch.setattr(module, "title_of", lambda library: f"{library} 1")
    monkeypatch.setattr(running, "interpreter_of", lambda library: library)
    monkeypatch.setattr(running, "exit_statuses", lambda script, n, python: [1])
    made = pool(lambda kinds: ("Softplus",))
    made.start = lambda: {"openvino:file": "no such library"}
    monkeypatch.setattr(commands, "WorkerPool", lambda backends, limits: nullcontext(made))
    run = made.run

    def asked(task):
        chosen = tuple(b for b in (*made.usable(),) if b in task.backends or b == PAIR.old)
        return run(replace(task, backends=chosen))  # one is a second version in place of a library

    made.run = asked
    return made


def test_what_is_found_is_on_the_page_and_in_the_facts(workers, project):
    told, found = compared(target="page", off=chain("Abs", "Softplus", "Neg"))
    assert f"off, {PAIR.old}, normal: values differ" in told
    assert found["left_out"] == {"openvino:file": "no such library"}
    (fault,) = found["findings"]
    assert fault["nodes"] == ["Softplus node1"] and fault["of"] == 3
    assert set(fault["statuses"].values()) == {1}
    page = (project / "page/index.html").read_text()
    assert "no such library" in page and "1 of 3 nodes show it by themselves" in page
    _, unexplained = compared("--model", "off.onnx", "--explain", "0")
    assert unexplained["findings"][0].get("nodes") is None


def test_no_fault_is_said_and_ends_with_0(workers, project):
    told, _ = compared(status=0, good=chain("Abs"))
    assert "0 of 1 models show a fault" in told
    page = (project / "compare-libraries/index.html").read_text()
    assert "every library that runs a model" in page


def test_a_library_that_does_not_work_at_all_was_not_compared(workers, project):
    workers.start = lambda: {
        f"onnxruntime:{way}": "no <DLL>" for way in file_options_of("onnxruntime")
    }
    told, found = compared(good=chain("Abs"))
    assert found["rejected"] == [["all models in onnxruntime", "no <DLL>"]]
    assert "all models in onnxruntime: left out (no <DLL>)" in told


def test_one_bad_file_or_node_stops_nothing_else(workers, project, monkeypatch):
    (project / "page.onnx").write_text("<html>")

    def broken(*given):
        raise ZeroDivisionError("a strange node")

    monkeypatch.setattr(running.FaultLocaliser, "smallest", broken)
    models = {"off": chain("Abs", "Softplus"), "good": chain("Abs")}
    told, found = compared("--model", "page.onnx", **models)
    assert "page: left out (" in told
    assert [model["name"] for model in found["models"]] == ["off", "good"]
    assert [fault["model"] for fault in found["findings"]] == ["off"]
    (file, _), (blame, why) = found["rejected"]
    assert file == "page" and blame.startswith("the nodes of off") and "a strange node" in why
    page = (project / "compare-libraries/index.html").read_text()
    assert "no ONNX model" in page and "a strange node" in page


def test_a_node_of_which_a_library_drops_an_output_is_blamed(workers, project):
    """Its module gives the first output alone, also where every value is asked for."""
    kernel = {"kernel_shape": [2], "strides": [2]}
    nodes = [("Abs", ["x"], ["a"], {}), ("MaxPool", ["a"], ["y", "at"], kernel)]
    model = onnx_model(nodes, [("x", (1, 2, 8))], ["y", "at"])
    model.graph.output[1].type.tensor_type.elem_type = onnx.TensorProto.INT64
    run = workers.run

    def shorter(task):
        result = run(task)
        kinds = result.outputs.get(PAIR.old, {})
        for name, outputs in kinds.items():
            kinds[name] = outputs[:-1] if len(outputs) > 1 else outputs
        return result

    workers.run = shorter
    _, found = compared(pool=model)
    (fault,) = found["findings"]
    assert (fault["kind"], fault["nodes"]) == ("wrong shape", ["MaxPool node1"])


def test_what_nothing_decides_is_shown_with_all_answers(workers, project):
    run = workers.run

    def without_reference(task):
        result = run(task)
        for backend in OF_ONNX.all:
            result.outputs.pop(backend, None)
            if backend in result.outcomes:
                failed = ExecutionOutcome(
                    0, backend, "run", "unsupported", "No", "no such operator"
                )
                result.outcomes[backend] = failed
        return result

    workers.run = without_reference
    told, found = compared(off=chain("Abs", "Softplus"), alone=chain("Abs"))
    assert "off, normal: unresolved (" in told
    assert "off: no reference computes it (unsupported: No no such operator)" in told
    (one,) = found["unresolved"]
    (first, gave), (second, other) = one["answers"]
    assert {*first, *second} == {PAIR.old, PAIR.new} and gave != other
    assert gave.startswith("output 0 at [") and found["findings"] == []
    assert set(found["models"][1]["statuses"].values()) == {"unchecked"}
    assert gave in (project / "compare-libraries/index.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give --model FILE"),
        (["--model", "none.onnx"], "there is no model file none.onnx"),
        (["--model", "text.onnx"], "text.onnx is no ONNX model"),
        (["--model", "m.keras"], "there is no model file m.keras"),
        (["--model", "text.pt2"], "text.pt2 is no archive of torch.export.save"),
        (["--model", "m.onnx", "--library", "jax"], "no files are run by 'jax'"),
        (["--model", "m.onnx", "--library", "pytorch_program"], "no files are run by"),
        (["--model", "m.onnx", "--library", "litert"], "(known: "),
        (["--model", "m.onnx", "--environment", "openvino@0.1"], "no environment 'openvino@0.1'"),
        (["--model", "m.onnx", "--input-shape", "z=1,2"], "no model has an input 'z'"),
        (["--model", "m.onnx", "--input-shape", "m/x=1,7"], "the input 'x' has the shape ?,4"),
        (["--model", "m.onnx", "--model", "other/m.onnx"], "two models are called m"),
        (["--model", "m.onnx", "--distribution", "odd"], "called 'odd'"),
    ],
)
def test_errors_of_the_command_are_one_line(project, arguments, said):
    (project / "other").mkdir()
    for place in ("m.onnx", "other/m.onnx"):
        onnx.save(chain("Neg"), project / place)
    for name in ("text.onnx", "text.pt2"):
        (project / name).write_text("no model")
    done = compare(*arguments)
    assert isinstance(done.exception, UserError), done.output
    assert said in str(done.exception) and "\n" not in str(done.exception)


COMMAND = "from asterism.cli.commands import app; app()"


def write_steps(path, *functions):
    """A file of these functions, one after the other."""
    nodes = [(function, f"v{at}", f"v{at + 1}") for at, function in enumerate(functions)]
    steps = {"inputs": ["v0"], "nodes": nodes, "outputs": [f"v{len(functions)}"]}
    path.write_text(json.dumps(steps))


def test_a_module_adds_a_kind_of_model_file(project):
    page = (ROOT / "docs/extending.md").read_text()
    section = page.split("\n## More kinds\n")[1]
    (module,) = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    (project / "steps_files.py").write_text(module)
    write_steps(project / "m.steps", "abs", "sqrt", "negative")
    given = ("--model", "m.steps", "--distribution", "normal", "--size", "3")
    path = os.pathsep.join([str(project), os.environ.get("PYTHONPATH", "")])
    variables = {"ASTERISM_LIBRARIES": "steps_files", "PYTHONPATH": path}
    done = python("-c", COMMAND, "compare-libraries", *given, **variables)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    found = json.loads((project / "compare-libraries/findings.json").read_text())
    (model,) = found["models"]
    statuses = {"steps_numpy:file": "right", "steps_faulty:file": "values differ"}
    assert model["statuses"] == statuses
    (fault,) = found["findings"]
    assert fault["nodes"] == ["sqrt"] and fault["of"] == 3
    assert list(fault["statuses"].values()) == [1]
