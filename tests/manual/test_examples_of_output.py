"""Examples of output outside of the tutorials are what this version prints."""

import errno
import re
from collections import Counter
from pathlib import Path

import pytest
from manual_pages import DOCS, pages
from tutorials import Part, lacking
from typer.testing import CliRunner

from asterism.cli import commands
from asterism.config import compose
from asterism.core.files.os_errors import rejections_told
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import read_params
from asterism.core.resuming import tidying
from asterism.core.resuming.state import Run
from asterism.core.running import stage
from asterism.libraries.judging.finding import Finding
from asterism.libraries.triage.reducer import unfinished
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.graph import Graph, Node, input_node, sequential
from asterism.memo.graphs.store import read_models, write_models
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer
from mutation.__main__ import report
from places import ROOT

#: Indented lines below a paragraph, which are no list's.
_EXAMPLE = re.compile(r"\n\n((?:    \S.*\n)+)\n")


def examples():
    """Each example of an error or of a command's output, with its page, on one line."""
    found = {}
    for page in pages():
        if page.parent.name == "tutorials" or page.stem == "extending":
            continue
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for block in _EXAMPLE.findall(text):
            line = " ".join(block.split())
            if not line.startswith("conf/"):  # the map of the source, which test_pipeline has
                found[line] = str(page.relative_to(DOCS))
    return found


FOUND = examples()


def of_a_stage(monkeypatch, capsys, name, body):
    """What a stage says that ends so."""
    monkeypatch.setattr(stage, "_run_script", lambda *given: body())
    assert stage._run(ROOT / "stages", name, []) == 1
    return capsys.readouterr().err


def wrong_parameter(tmp_path, monkeypatch, capsys):
    text = compose(ROOT / "conf", []).replace("abstraction:\n  k: 3", "abstraction:\n  k: 0")
    (tmp_path / "params.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    script = stage.load_script(ROOT / "stages", "build_dtmc")
    return of_a_stage(monkeypatch, capsys, "build_dtmc", lambda: read_params(script.Params))


def wrong_name(tmp_path, monkeypatch, capsys):
    with pytest.raises(UserError) as told:
        compose(ROOT / "conf", ["attack.names=[fgsmm]"])
    return f"error: {told.value}"


def wrong_folder(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "caches"
    folder.mkdir()
    monkeypatch.setenv("ASTERISM_STATE_ROOT", str(folder))

    def body():
        with rejections_told():
            raise PermissionError(errno.EACCES, "no", str(folder))

    told = of_a_stage(monkeypatch, capsys, "fuzz-state", body)
    return told.replace(str(folder), "/caches")


def missing_package(tmp_path, monkeypatch, capsys):
    def body():
        raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")

    return of_a_stage(monkeypatch, capsys, "train_classifier", body)


def wrong_graph(tmp_path, monkeypatch, capsys):
    graph = Graph(
        {
            0: input_node((4,)),
            1: Node("ReLU", {"dtype": "float32"}, (0,)),
            2: Node("Dense", {"dtype": "float32", "units": 3}, (1,)),
        }
    )
    folder = Path("artifacts/generate_models")
    monkeypatch.chdir(tmp_path)
    folder.mkdir(parents=True)
    write_models(folder, {"00003": graph})
    path = folder / "models.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"units"', '"unit"'))
    return of_a_stage(monkeypatch, capsys, "triage_findings", lambda: read_models(folder))


def states(tmp_path, monkeypatch, capsys):
    run = Run("fuzz-state", "0d2c")
    monkeypatch.setattr(
        tidying, "entries", lambda: [tidying.Entry(run, 3, 0, 12_400_000, 0.1, "unfinished")]
    )
    return CliRunner().invoke(commands.app, ["state"]).output


def mutants(tmp_path, monkeypatch, capsys):
    report({"images": [None] * 21}, Counter(images=21))
    return capsys.readouterr().out


def minimality(tmp_path, monkeypatch, capsys):
    found = Finding(0, "values differ", "run", "pytorch", ("pytorch:eager",), ("normal",))
    graph = sequential(Tensor((4,)), [layer("ReLU") for _ in range(3)])
    why = unfinished(14, "triage.max_steps=20", "")
    return UniqueFinding("s", found, graph, None, {0}, 8, unfinished=why).minimality


#: What prints each example, by its beginning.
PRINTED = {
    "error: build_dtmc: params.yaml": wrong_parameter,
    "error: conf: attack": wrong_name,
    "error: fuzz-state: the folder": wrong_folder,
    "error: train_classifier: sklearn": missing_package,
    "error: triage_findings: artifacts": wrong_graph,
    "fuzz-state 0d2c": states,
    "not minimal, reduced from": minimality,
    "package faults caught": mutants,
}


def test_something_prints_every_example():
    begun = {begin for line in FOUND for begin in PRINTED if line.startswith(begin)}
    assert begun == set(PRINTED) and len(FOUND) == len(PRINTED), FOUND


@pytest.mark.parametrize("begin", PRINTED)
def test_an_example_is_what_this_version_prints(begin, tmp_path, monkeypatch, capsys):
    (shown,) = [line for line in FOUND if line.startswith(begin)]
    printed = " ".join(PRINTED[begin](tmp_path, monkeypatch, capsys).split())
    part = Part(None, "", [f"…{shown}…"])
    assert not lacking(part, printed), printed
