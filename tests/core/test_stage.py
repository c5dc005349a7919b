"""What a person sees of a stage, run as DVC runs it."""

import os
import subprocess
import sys

import pytest

from asterism.core.files.artifacts import read_json
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.core.resuming.work_units import work_units
from asterism.core.running.stage import main
from places import ROOT
from terminal_text import HOSTILE, tame
from text_result import Text

SCRIPT = '''"""Says and does what a test wants."""
import os, sys
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection

class Params(ParameterSection):
    seed: int

VARIANTS

def run(HEAD) -> None:
    print("python's word", file=sys.stderr)
    os.write(1, b"a library's "); os.write(2, b"word")
    BODY
'''

LAUNCH = (
    "import sys; from pathlib import Path; from asterism.core.running.stage import main; "
    "sys.exit(main(Path('scripts'), ['say', *sys.argv[1:]], lambda: None))"
)


def write_stage(folder, body="pass", variants=None, params="seed: 0"):
    """A stage; ``variants`` is an expression for their names."""
    known = "" if variants is None else f"def variants(params): return {variants}"
    head = "params: Params" if variants is None else "params: Params, how: str"
    script = SCRIPT.replace("BODY", body).replace("HEAD", head).replace("VARIANTS", known)
    (folder / "scripts").mkdir()
    (folder / "scripts" / "say.py").write_text(script)
    (folder / "params.yaml").write_text(f"{params}\n")


def run_stage(folder, body="pass"):
    """Run a stage in a process of its own, as DVC does."""
    write_stage(folder, body)
    return subprocess.run(
        [sys.executable, "-c", LAUNCH],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def run_here(tmp_path, monkeypatch, capfd):
    """Run a stage in this process: its status, and what it says on standard output and error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("asterism.core.running.stage.divert_native_messages", lambda path: None)

    def run(body, *words, **more):
        write_stage(tmp_path, body, **more)
        for name in ("stdout", "stderr"):  # which a stage exchanges
            monkeypatch.setattr(sys, name, getattr(sys, name))
        status = main(tmp_path / "scripts", ["say", *words], lambda: None)
        return status, *capfd.readouterr()

    return run


def test_messages_of_native_libraries_go_to_the_log(tmp_path):
    ended = run_stage(tmp_path)
    assert ended.returncode == 0
    assert "python's word" in ended.stderr
    assert ended.stdout == "" and "word" not in ended.stderr.replace("python's word", "")
    assert (tmp_path / "logs" / "say.native.log").read_text() == "a library's word"
    assert "started" in ended.stderr and "finished" in ended.stderr and "\x1b" not in ended.stderr
    assert (tmp_path / "logs" / "say.jsonl").read_text().count("\n") == 2


def test_what_a_stage_prints_warns_of_logs_and_fails_with_is_text_only(tmp_path):
    ended = run_stage(
        tmp_path,
        f"import logging, warnings; told = {HOSTILE.replace(chr(10), '')!r}; print(told); "
        "warnings.warn(told); logging.getLogger('library').error(told); "
        "print(told, file=sys.stderr); raise ValueError(told)",
    )
    assert ended.returncode == 1
    assert tame(ended.stdout) and "x1b[2J" in ended.stdout
    assert tame(ended.stderr) and ended.stderr.count("x1b[2J") >= 6


@pytest.mark.parametrize(
    ("body", "status", "line"),
    [
        ("raise UserError('no such file')", 1, "error: say: no such file"),
        (
            "raise KeyboardInterrupt",
            130,
            "error: say: interrupted; the same command resumes it",
        ),
        ("1 / 0", 1, "error: say: ZeroDivisionError: division by zero"),
    ],
)
def test_an_error_is_told_in_one_line_first(run_here, body, status, line):
    ended, _, said = run_here(body)
    assert ended == status
    lines = (text for text in said.splitlines() if "python's word" not in text)
    assert line in [text.removeprefix("word") for text in lines][:2]


@pytest.mark.parametrize(
    ("variants", "given", "told"),
    [
        (None, ["loudly"], "error: say-loudly: it takes no variant"),
        ("['loudly', 'low']", [], "error: say: it takes the name of a variant (loudly, low)"),
        ("['loudly', 'low']", ["lowd"], "no variant of say is called 'lowd'; did you mean 'low'?"),
        ("[]", ["loudly"], "no variant of say is called 'loudly'"),
        ("['loudly', 'low']", ["loudly"], None),
    ],
)
def test_a_variant_is_given_where_the_stage_has_variants_only(run_here, variants, given, told):
    status, _, said = run_here("pass", *given, variants=variants)
    assert status == (told is not None)
    assert told is None or told in said


def test_wrong_parameters_end_it_before_it_starts(run_here):
    status, _, said = run_here("pass", params="seed: many")
    assert status == 1 and "params.yaml: seed is 'many'" in said
    assert "started" not in said and "python's word" not in said


def test_help_names_the_variants_and_says_nothing_else(run_here):
    status, said, errors = run_here("pass", "--help", variants="['loudly', 'low']")
    assert status == 0
    assert "loudly, low\n" in said
    assert "parameters: seed\n" in said
    assert errors == ""


def test_a_crash_of_the_interpreter_shows_its_place(tmp_path):
    ended = run_stage(tmp_path, "os.abort()")
    assert ended.returncode < 0
    assert "Fatal Python error: Aborted" in ended.stderr
    assert "in run" in ended.stderr


def test_a_stage_is_charged_with_its_own_memory_only(tmp_path):
    (tmp_path / "small").mkdir()
    (tmp_path / "large").mkdir()
    held_by_the_parent = b"x" * (400 << 20)
    held_mb = len(held_by_the_parent) >> 20
    run_stage(tmp_path / "small")
    run_stage(tmp_path / "large", "held = b'x' * (300 << 20)")
    small, large = (
        read_json(tmp_path / name / "logs" / "say.run.json")["peak_memory_mb"]
        for name in ("small", "large")
    )
    assert 0 < small < held_mb
    assert 290 < large - small < 310


DVC_YAML = """
stages:
  fuzz:
    deps: [stages/fuzz.py, src/asterism/core, artifacts/model]
  trigger:
    foreach: ${pairs}
    do:
      deps: [stages/trigger.py, src/asterism/core]
"""


@pytest.mark.parametrize("stage", ["fuzz", "trigger"])
@pytest.mark.parametrize(
    ("changed", "goes_on"),
    [
        ("requirements.lock", False),
        ("src/asterism/core/formats/loaded_by_another_process.py", False),
        ("stages/STAGE.py", False),
        ("src/asterism/memo/of_another_stage.py", True),
    ],
)
def test_what_another_version_began_is_not_continued(
    tmp_path, monkeypatch, stage, changed, goes_on
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASTERISM_STATE_ROOT", str(tmp_path / "state"))
    (tmp_path / "dvc.yaml").write_text(DVC_YAML)
    file = tmp_path / changed.replace("STAGE", stage)
    file.parent.mkdir(parents=True, exist_ok=True)
    gone_on = []
    for version in ("first", "second", "first"):
        file.write_text(version)
        computed = []

        def compute(_checkpoint, computed=computed):
            computed.append(True)
            return Text("kept")

        work_units(stage, ParameterSection(), [], "one").gather({"unit": compute}, Text.load)
        gone_on.append(not computed)
    assert gone_on == [False, goes_on, True]


def test_units_of_a_stage_that_dvc_does_not_know_are_rejected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dvc.yaml").write_text(DVC_YAML)
    with pytest.raises(UserError, match="no stage own"):
        work_units("own", ParameterSection(), [])


def test_stages_are_listed_by_the_first_lines_of_what_they_say(tmp_path, capsys):
    scripts = {"a": '"""Trains it.\n\nAt length."""', "b": "import nothing_of_that_name", "_c": ""}
    for name, text in scripts.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert main(tmp_path, [], lambda: None) == 2
    listed = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert [words for words in listed if words[:1] in (["a"], ["b"])] == [
        ["a", "Trains it."],
        ["b"],
    ]
    assert main(tmp_path, ["--help"], lambda: None) == 0
    assert main(tmp_path, ["c"], lambda: None) == 2
