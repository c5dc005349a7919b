"""What each command of ``asterism`` does with its arguments, and how it ends."""

import json
import os
import sys
import webbrowser
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import onnx
import pytest
import typer
from onnx import numpy_helper
from typer.testing import CliRunner

from asterism import __version__, cli, config, project
from asterism import budget as budgets
from asterism.asking import question
from asterism.asking.question import ResolvedQuestion
from asterism.asking.request import VetRequest
from asterism.cli import commands
from asterism.cli.program import GROUPS
from asterism.cli.projects import PAGES, find_page
from asterism.core.files.interrupts import INTERRUPTED
from asterism.core.files.records import record_as_json
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra import repository, saved_state
from asterism.models.tensor_models import trial
from asterism.sweep import app as sweep_app
from asterism.sweep import pipeline, plan, sharing
from asterism.sweep.worker import SweepRequest
from asterism.sweep.workspace import run_git
from asterism.vetting import certificate, repeating
from asterism.vetting.certificate import Certificate
from asterism.vetting.repeating import RepeatedCertificate
from asterism.vetting.verdict import Verdict, Word
from onnx_texts import onnx_model
from places import ROOT


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, and the current one."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def root(here):
    """A folder that looks like a project's root."""
    (here / "dvc.yaml").write_text("stages: {}\n")
    return here


@pytest.fixture
def note(monkeypatch):
    """Puts a function that notes its arguments in the place of another; all calls, in order."""
    calls = []

    def put(owner, name, gives=None):
        def noted(*given, **named):
            calls.append((name, *given, *named.values()))
            if isinstance(gives, BaseException):
                raise gives
            return gives

        monkeypatch.setattr(owner, name, noted)

    put.calls = calls
    return put


def run(*words):
    return CliRunner().invoke(commands.app, [str(word) for word in words])


NEEDED = dict.fromkeys(("check", "sweep", "repro", "push", "pull", "budget"), "dvc.yaml")


@pytest.mark.parametrize(
    ("name", "needed"), (NEEDED | {"params": "conf", "compare": "results"}).items()
)
def test_a_command_on_a_project_needs_its_root(name, needed, here, note):
    for owner, called in (
        (config, "check_params"),
        (config, "compose"),
        (budgets, "stage_costs"),
        (sweep_app, "sweep_command"),
        (sharing, "push"),
    ):
        note(owner, called)
    ended = run(name)
    assert isinstance(ended.exception, UserError)
    told = f"there is no {needed} here: run the command in the project's root"
    assert told in str(ended.exception)
    assert note.calls == []


def test_errors_of_the_users_are_one_line_and_status_1(here, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["something", "budget"])
    with pytest.raises(SystemExit) as end:
        cli.run()
    assert end.value.code == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("error: there is no dvc.yaml here")
    assert said.err.count("\n") == 1


def test_help_calls_the_program_by_its_name(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["something.py", "--help"])
    with pytest.raises(SystemExit) as end:
        cli.run()
    assert end.value.code == 0
    assert "asterism [OPTIONS] COMMAND" in capsys.readouterr().out


def test_the_version_is_told_anywhere(here):
    told = run("--version")
    assert (told.output, told.exit_code) == (f"asterism {__version__}\n", 0)


# check


def one_weight(path, **outside):
    """A model that multiplies by 3, whose weight may lie in another file."""
    text = "(float[n,4] x) => (float[n,4] y) { y = MatMul (x, w) }"
    onnx.save(onnx_model(text, w=np.full((4, 4), 3, np.float32)), path, **outside)
    return path


def test_models_and_inputs_are_looked_at_outside_of_a_project_too(here):
    model = one_weight(here / "a.onnx")
    np.savez(here / "inputs.npz", inputs=np.zeros((3, 4), np.float32))
    both = run("check", model, "--inputs", here / "inputs.npz").output
    assert f"{model}: ONNX" in both and "arrays of NumPy" in both
    alone = run("check", model).output
    assert f"{model}: ONNX" in alone and "arrays of NumPy" not in alone
    alone = run("check", "--inputs", here / "inputs.npz").output
    assert alone.startswith(f"{here}/inputs.npz: arrays of NumPy")
    told = json.loads(run("check", model, "--json", "--inputs", here / "inputs.npz").output)
    assert [one["file"] for one in told["models"]] == [str(model)]
    assert told["inputs"]["files"] == 1
    assert json.loads(run("check", model, "--json").output)["inputs"] is None
    assert "name at least one" in str(run("check", "--json").exception)


def test_a_project_is_checked_where_no_file_is_given(root, note):
    note(config, "check_params")
    opened = SimpleNamespace(clean_cache=None)
    note(repository, "open_checked_repository", opened)
    note(opened, "clean_cache")
    ended = run("check")
    assert ended.exit_code == 0 and "params.yaml is valid" in ended.output
    called = ["check_params", "open_checked_repository"]
    assert note.calls == [*((name, root) for name in called), ("clean_cache",)]


# vet


def settled(override, *said):
    """A question as the command gets it, which looks at no parameters."""
    return ResolvedQuestion([override], [*said], large=False, params=None)


@pytest.fixture
def vetted(root, note, monkeypatch):
    """A project in which vetting leaves a certificate and a page at once; its point's folder.

    What the certificate says itself is no verdict: that follows from its numbers.
    """
    (root / "conf/vet").mkdir(parents=True)
    monkeypatch.setattr(trial, "require_runs", lambda *_: None)
    note(question, "resolve_question", settled("vet=tensors", "kind tensors: guessed"))
    note(sweep_app, "sweep_command", 0)
    note(webbrowser, "open")
    folder = root / "sweeps/vet-small/points/0000/vet"
    folder.mkdir(parents=True)
    certify(monkeypatch, "do not ship", "agreement: 80%", "accuracy lost: 9%")
    return folder


CERTIFICATE = Certificate({"word": "ship"}, {}, {}, [], 0, "", {}, {}, {})


def certify(monkeypatch, word, *reasons):
    """Have every certificate's numbers lead to a verdict."""
    read = CERTIFICATE, None, Verdict(word, reasons, ())
    monkeypatch.setattr(certificate, "read_certificate", lambda path: read)


def repeated(note, word, *differences):
    """Have every certificate repeated with this outcome."""
    note(
        repeating, "repeat_certificate", RepeatedCertificate([*differences], Verdict(word, (), ()))
    )


FILES = ("vet", "big.onnx", "small.onnx", "--inputs", "inputs.npz")


def test_vetting_says_the_guesses_runs_the_page_and_says_the_verdict(vetted, note):
    ended = run(*FILES, "--open")
    assert ended.exit_code == 0
    assert ended.output.splitlines() == [
        "kind tensors: guessed",
        "verdict: do not ship",
        "  agreement: 80%",
        "  accuracy lost: 9%",
        f"page: {vetted / 'index.html'}",
    ]
    (_, asked, conf), (_, request, dry, _say), opened = note.calls
    files = [Path.cwd() / name for name in ("big.onnx", "small.onnx", "inputs.npz")]
    assert [asked.original, asked.compressed, asked.inputs] == files
    assert (asked.constants, asked.overrides, asked.options) == ((), (), None)
    assert (conf, dry) == (Path.cwd() / "conf", False)
    assert list(request.overrides) == ["vet=tensors"] and request.targets == ["vet_page"]
    assert (request.name, request.jobs, request.shards) == ("vet-small", 2, 1)
    assert opened == ("open", (vetted / "index.html").as_uri())


def test_what_vetting_is_told_is_handed_on(vetted, note):
    told = ["--kind", "sound", "--comparison", "top_label", "--labels", "l.json"]
    told += ["--preprocessing", "unit", "--constant", "sr=16000", "-S", "seed=1", "-S", "vet.x=2"]
    run(*FILES, *told, "--name", "mine", "--dry-run")
    (_, asked, _), (_, request, dry, _) = note.calls
    here = Path.cwd()
    assert asked == VetRequest(
        original=here / "big.onnx", compressed=here / "small.onnx", inputs=here / "inputs.npz",
        kind="sound", comparison="top_label", labels=here / "l.json", preprocessing="unit",
        constants=["sr=16000"], overrides=["seed=1", "vet.x=2"],
        earlier=here / "sweeps/mine/points/0000/vet/certificate.json",
    )  # fmt: skip
    assert (request.name, dry) == ("mine", True)


CODES = {
    "ship": 0,
    "ship with the repair": 3,
    "do not ship": 4,
    "not enough inputs to say": 5,
}


@pytest.mark.parametrize("word", get_args(Word))
def test_the_status_tells_the_verdict_where_it_is_asked_for(vetted, note, monkeypatch, word):
    certify(monkeypatch, word)
    assert run(*FILES).exit_code == 0
    assert run(*FILES, "--exit-code").exit_code == CODES[word]
    assert run(*FILES, "--exit-code", "--dry-run").exit_code == 0
    repeated(note, word)
    check = ("vet", "--check", "certificate.json")
    assert run(*check).exit_code == 0
    assert run(*check, "--exit-code").exit_code == CODES[word]
    repeated(note, word, "measured.x: 1 in the certificate, 2 now")
    assert run(*check, "--exit-code").exit_code == 1
    note(sweep_app, "sweep_command", 1)
    assert run(*FILES, "--exit-code").exit_code == 1


@pytest.mark.parametrize("more", [(), ("--no-open",)])
def test_a_page_is_opened_in_a_terminal_only(vetted, note, more):
    assert "page: " in run(*FILES, *more).output  # the runner's output is no terminal
    assert "open" not in [name for name, *_ in note.calls]


@pytest.mark.parametrize(("code", "more"), [(0, ("--dry-run",)), (1, ()), (2, ("--dry-run",))])
def test_without_a_page_there_is_no_verdict(vetted, note, code, more):
    note(sweep_app, "sweep_command", code)
    ended = run(*FILES, "--open", *more)
    assert ended.exit_code == code
    assert ended.output == "kind tensors: guessed\n"
    assert "open" not in [name for name, *_ in note.calls]


def test_a_project_is_made_where_there_is_none_once_the_question_can_be_asked(
    here, note, monkeypatch
):
    note(project, "new_project", ["made a project"])
    ended = run(*FILES)
    assert "big.onnx" in str(ended.exception)
    assert note.calls == [] and list(here.iterdir()) == []
    monkeypatch.setattr(trial, "require_runs", lambda *_: None)
    note(question, "resolve_question", settled("vet=nothing"))
    assert "'nothing'" in str(run(*FILES).exception)
    assert [name for name, *_ in note.calls] == ["resolve_question"]
    note(question, "resolve_question", settled("vet=tensors"))
    ended = run(*FILES)
    assert ended.output == "made a project\n"
    assert note.calls[-1] == ("new_project", here)
    assert "there is no dvc.yaml here" in str(ended.exception)


def test_no_project_is_made_where_one_is(vetted, note):
    note(project, "new_project", ["made a project"])
    note(project, "check_code")
    assert "made a project" not in run(*FILES).output
    assert ("check_code", Path.cwd()) in note.calls


@pytest.mark.parametrize(
    "words", [("a", "b"), ("a", "--inputs", "x"), ("--inputs", "x"), ("--open",)]
)
def test_vetting_needs_two_models_and_inputs(root, words):
    ended = run("vet", *words)
    assert isinstance(ended.exception, UserError)
    assert "give the original, the compressed model and --inputs" in str(ended.exception)


def test_with_json_standard_output_is_the_certificate_alone(vetted, note):
    ended = run(*FILES, "--json", "--open")
    assert ended.exit_code == 0
    assert json.loads(ended.stdout) == record_as_json(CERTIFICATE)
    assert ended.stderr == "kind tensors: guessed\n"
    assert "open" not in [name for name, *_ in note.calls]
    assert run(*FILES, "--json", "--exit-code").exit_code == CODES["do not ship"]
    assert "--dry-run makes none" in str(run(*FILES, "--json", "--dry-run").exception)
    note(sweep_app, "sweep_command", 1)
    failed = run(*FILES, "--json")
    assert (failed.exit_code, failed.stdout) == (1, "")


@pytest.mark.parametrize("differences", [[], ["measured.x: 1 in the certificate, 2 now"]])
def test_with_json_a_repeated_certificate_says_what_differs(here, note, differences):
    repeated(note, "ship", *differences)
    ended = run("vet", "--check", "c.json", "--json")
    assert json.loads(ended.output) == {"holds": not differences, "differences": differences}
    assert ended.exit_code == bool(differences)


def test_a_certificate_is_repeated_and_decides_the_status(here, note, monkeypatch):
    monkeypatch.setattr(trial, "require_runs", lambda *_: None)
    repeated(note, "ship")
    ended = run("vet", "--check", "c.json")
    assert (ended.output, ended.exit_code) == ("the certificate holds\n", 0)
    repeated(note, "ship", "measured.x: 1 in the certificate, 2 now")
    ended = run("vet", "a.onnx", "b.onnx", "--inputs", "c", "--labels", "d", "--check", "c.json")
    assert ended.exit_code == 1
    assert ended.output.splitlines() == [
        "measured.x: 1 in the certificate, 2 now",
        "the certificate does not hold",
    ]
    names = ("original", "compressed", "inputs", "labels")
    given = (here / "a.onnx", here / "b.onnx", Path("c"), Path("d"))
    files = dict(zip(names, given, strict=True))
    assert note.calls == [("repeat_certificate", Path("c.json"), f) for f in ({}, files)]


@pytest.mark.parametrize("more", [("--kind", "images"), ("-S", "seed=1"), ("--demo",)])
def test_a_certificate_is_asked_nothing_else(here, note, more):
    repeated(note, "ship")
    assert "--check" in str(run("vet", "--check", "c.json", *more).exception)
    assert note.calls == []


# pack, new


def test_a_model_and_the_files_of_its_data_become_one_file(here):
    outside = {"save_as_external_data": True, "location": "data.bin", "size_threshold": 0}
    one_weight(here / "a.onnx", **outside)
    assert (here / "data.bin").exists()
    ended = run("pack", "a.onnx", "b.onnx")
    assert ended.output == "b.onnx is written\n"
    (here / "data.bin").unlink()
    (weight,) = onnx.load(here / "b.onnx").graph.initializer
    assert (numpy_helper.to_array(weight) == 3).all()


def test_a_project_is_made_or_updated(here, note):
    note(project, "new_project", ["made", "a line"])
    note(project, "update_project", ["updated"])
    assert run("new", "own").output == "made\na line\n"
    assert run("new", "own", "--update").output == "updated\n"
    assert note.calls == [("new_project", Path("own")), ("update_project", Path("own"))]


# params, sweep, repro, pull, state, budget


def test_parameters_are_written_as_they_are_composed(here, monkeypatch):
    (here / "conf").mkdir()
    monkeypatch.setattr(config, "compose", lambda conf, overrides: f"# {conf} é {overrides}\n")
    written = here / "params.yaml"
    assert run("params").output == "params.yaml is written\n"
    assert written.read_bytes().decode("utf-8") == "# conf é []\n"
    assert run("params", "--check").exit_code == 0
    told = str(run("params", "a=1", "b=[c]", "--check").exception)
    assert "asterism params a=1 'b=[c]'" in told, "a command that a shell takes"
    assert written.read_bytes().decode("utf-8") == "# conf é []\n", "a check changes nothing"
    assert run("params", "a=1").exit_code == 0
    assert written.read_bytes().decode("utf-8") == "# conf é ['a=1']\n"
    written.unlink()
    assert isinstance(run("params", "--check").exception, UserError)
    assert not written.exists()


def test_a_sweep_is_asked_for_as_it_is_written(root, note):
    note(sweep_app, "sweep_command", 4)
    assert run("sweep").exit_code == 4
    words = ["a=1,2", "b=3", "-t", "report", "--target", "fuzz@state", "--name", "n", "--jobs", 2]
    words += ["--shards", 3, "--shard-launcher", "slurm", "--objective", "m:x", "--dry-run"]
    assert run("sweep", *words).exit_code == 4
    (_, usual, dry, _), (_, asked, wet, _) = note.calls
    assert (usual, dry) == (SweepRequest(overrides=[], targets=[]), False)
    targets = ["report", "fuzz@state"]
    assert asked == SweepRequest(
        overrides=["a=1,2", "b=3"], targets=targets, name="n", jobs=2, shards=3,
        shard_launcher="slurm", objective="m:x",
    )  # fmt: skip
    assert wet


def test_a_run_is_told_of_parameters_that_are_not_the_commits(root, note):
    note(sweep_app, "sweep_command", 0)
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "a")):
        (root / "params.yaml").write_text("seed: 0\nfuzz: {mutants: 3, k: [1]}\n")
        run_git(root, "-c", "user.name=a", "-c", "user.email=a@b", *command)
    assert run("sweep").output == ""
    (root / "params.yaml").write_text("seed: 0\nfuzz: {mutants: 4, k: [1]}\n")
    (told,) = run("sweep").output.splitlines()
    assert "fuzz.mutants" in told and "seed" not in told and "fuzz.k" not in told


@pytest.fixture
def pipeline_of(root, note, monkeypatch):
    """The project's pipeline, of which certain stages run; or running it fails."""

    monkeypatch.setattr(repository, "open_checked_repository", "repository of {}".format)
    stages = [SimpleNamespace(name=name) for name in ("fresh", "stale")]
    monkeypatch.setattr(plan, "read_plan", lambda *given: note.calls.append(given) or stages)
    note(budgets, "run_table", ["a table"])
    note(config, "check_params")
    note(pipeline, "use_this_python")
    note(pipeline, "find_outdated_stages", stages[1:])
    note(pipeline, "lock_folder", Path("locks"))
    note(saved_state, "remove_unneeded_state")
    (root / "conf").symlink_to(ROOT / "conf")

    def of(gives):
        note(pipeline, "run_stages", gives)
        return root

    return of


def test_repro_runs_what_is_planned_and_records_it(pipeline_of, note):
    root = pipeline_of(["one", "two"])
    ended = run("repro", "one", "--jobs", 2)
    assert (ended.output, ended.exit_code) == ("a table\n2 stages ran\n", 0)
    checked, python, (opened, targets), ends, locks, ran, tidied, tabled = note.calls
    assert tabled == ("run_table", root, ["stale"], ["one", "two"], 1)
    assert checked == ("check_params", root)
    assert (python[0], tidied[0]) == ("use_this_python", "remove_unneeded_state")
    assert (opened, targets) == (f"repository of {root}", ["one"])
    _, plan, stale = ran[1:4]
    assert ends == ("find_outdated_stages", opened, plan) and locks == ("lock_folder", root)
    assert ran[:2] == ("run_stages", opened) and ran[4:6] == (2, Path("locks"))
    assert [stage.name for stage in (*plan, *stale)] == ["fresh", "stale", "stale"]
    record = json.loads((root / "logs/repro.run.json").read_text())
    assert record["stages"] == 2 and record["jobs"] == 2
    assert 0 <= record["seconds"] < 60 and record["peak_memory_with_children_mb"] > 0
    assert "Sweeps" in (root / "sweeps/index.html").read_text()


def test_repro_keeps_the_page_of_sweeps_and_records_no_run_of_nothing(pipeline_of, note):
    root = pipeline_of([])
    (root / "sweeps").mkdir()
    (root / "sweeps/index.html").write_text("mine")
    ended = run("repro")
    assert ended.output.endswith("Data and pipelines are up to date.\n") and ended.exit_code == 0
    assert (root / "sweeps/index.html").read_text() == "mine"
    assert not (root / "logs/repro.run.json").exists()
    assert note.calls[2][1] == [], "all stages"


def test_repro_that_is_interrupted_ends_as_an_interrupted_program(pipeline_of):
    root = pipeline_of(KeyboardInterrupt())
    ended = run("repro")
    assert ended.exit_code == INTERRUPTED
    assert not (root / "sweeps").exists() and not (root / "logs").exists()


def test_a_stage_that_fails_is_one_line(pipeline_of):
    pipeline_of(pipeline.StageFailedError("fuzz@state", 1))
    ended = run("repro")
    assert isinstance(ended.exception, UserError) and "fuzz@state" in str(ended.exception)


def test_pulling_checks_the_parameters_and_ends_as_dvc_does(root, note):
    note(config, "check_params")
    note(sharing, "pull", 5)
    assert run("pull").exit_code == 5
    assert run("pull", "--experiments", "origin").exit_code == 5
    checked = ("check_params", root)
    assert note.calls == [checked, ("pull", root, None), checked, ("pull", root, "origin")]


def test_pushing_ends_as_dvc_does(root, note):
    note(sharing, "push", 6)
    assert run("push").exit_code == 6
    assert note.calls == [("push", root, "origin")]


def test_what_is_kept_is_json_for_programs(here, state_root, monkeypatch):
    class Run:
        stage, key = "fuzz-state", "abc"

    found = [saved_state.SavedRun(Run, 3, 0, 2_500_000, 1.0, "unfinished")]
    monkeypatch.setattr(saved_state, "saved_runs", lambda: found)
    monkeypatch.setattr(saved_state, "other_folder_sizes", lambda: {"onnx": 5})
    told = json.loads(run("state", "--json").output)
    assert told == {
        "root": str(state_root),
        "runs": [
            {"stage": "fuzz-state", "key": "abc", "units": 3, "bytes": 2_500_000, "days": 1.0}
            | {"status": "unfinished", "damaged": 0}
        ],
        "others": {"onnx": 5},
    }
    assert "--json only lists" in str(run("state", "--json", "--clean").exception)


# help and completion


def test_help_shows_every_command_in_a_group_and_the_groups_in_their_order():
    program = typer.main.get_command(commands.app)
    groups = [command.rich_help_panel for command in program.commands.values()]
    assert set(groups) <= set(GROUPS), "every command has one"
    text = run("--help").output
    shown = [text.index(f"─ {group} ─") for group in GROUPS if group in groups]
    assert shown == sorted(shown)
    listed = program.list_commands(None)
    assert sorted(listed) == sorted(program.commands)
    assert [program.commands[name].rich_help_panel for name in listed] == sorted(
        groups, key=GROUPS.index
    )


def completed(monkeypatch, words):
    """What a shell is told to complete the last word to."""
    monkeypatch.setenv("_ASTERISM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    monkeypatch.setattr(sys, "argv", ["asterism"])
    with pytest.raises(SystemExit):
        cli.run()


def test_the_shell_completes_commands_options_stages_and_pages(root, monkeypatch, capsys):
    (root / "dvc.yaml").write_text("stages:\n  fuzz:\n    foreach: [a]\n  report:\n    cmd: x\n")
    lock = "schema: '2.0'\nstages:\n  fuzz@state:\n    cmd: x\n"
    (root / "dvc.lock").write_text(lock)
    (root / "sweeps/mine").mkdir(parents=True)
    (root / "sweeps/mine/index.html").touch()
    run_git(root, "init", "-q", "-b", "main")
    for words, wanted in {
        "asterism doc": ["doctor"],
        "asterism doctor --js": ["--json"],
        "asterism repro fu": ["fuzz", "fuzz@state"],
        "asterism sweep -t rep": ["report"],
        "asterism open m": ["manual", "mine"],
    }.items():
        completed(monkeypatch, words)
        assert capsys.readouterr().out.split() == wanted, words


def test_outside_of_a_project_nothing_is_completed(here, monkeypatch, capsys):
    for words in ("asterism repro ", "asterism open mi"):
        completed(monkeypatch, words)
        assert capsys.readouterr().out.split() == []


# open


def put(root, name, age=0):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return path


def test_each_page_is_the_latest_of_its_kind(root):
    report = put(root, "report/index.html")
    older = put(root, "sweeps/a/points/0000/vet/index.html", age=10)
    newer = put(root, "sweeps/b/points/0000/vet/index.html")
    sweep = put(root, "sweeps/c/index.html")
    put(root, "sweeps/b/index.html", age=5)
    overview = put(root, "sweeps/index.html")
    manual = put(root, "build/manual/index.html")
    pages = {"report": report, "vet": newer, "sweep": sweep, "sweeps": overview}
    pages |= {"manual": manual}
    assert pages.keys() == PAGES.keys()
    for name, page in pages.items():
        assert find_page(root, name) == page
    older.touch()
    assert find_page(root, "vet") == older


def test_a_name_is_a_sweeps_or_that_of_a_vetted_pair(root):
    sweep = put(root, "sweeps/many/index.html")
    put(root, "sweeps/vet-small/index.html")
    vetted = put(root, "sweeps/vet-small/points/0000/vet/index.html")
    assert find_page(root, "many") == sweep
    assert find_page(root, "vet-small") == vetted
    with pytest.raises(UserError, match="did you mean 'many'"):
        find_page(root, "mny")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_is_not_there_yet_says_what_makes_it(root, name):
    with pytest.raises(UserError, match=f"yet: `{PAGES[name][1]}` makes it"):
        find_page(root, name)


def test_the_path_is_printed_and_the_browser_asked(root, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    page = put(root, "report/index.html")
    ended = run("open")
    assert ended.output == f"page: {page}\n" and opened == [page.as_uri()]
