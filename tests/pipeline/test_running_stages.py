"""What a stage's process says and how it ends."""

import signal
import subprocess
import sys

import pytest
from imports import ROOT

from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script

SCRIPT = """\
\"\"\"A stage for the test.\"\"\"
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
class Params(ParameterSection):
    seed: int
def run(params):
    {body}
"""


@pytest.fixture
def project(tmp_path):
    """A project with one stage whose body the test gives."""
    (tmp_path / "stages").mkdir()
    (tmp_path / "src").symlink_to(ROOT / "src")
    main = (ROOT / "stages" / "__main__.py").read_text(encoding="utf-8")
    (tmp_path / "stages" / "__main__.py").write_text(main)
    (tmp_path / "params.yaml").write_text("seed: 1\n")

    def start(body, *arguments):
        (tmp_path / "stages" / "one.py").write_text(SCRIPT.format(body=body))
        return subprocess.Popen(
            [sys.executable, "stages", *(arguments or ["one"])],
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return start


def test_a_stage_that_succeeds_logs_and_records_its_time(project, tmp_path):
    process = project("pass")
    _, errors = process.communicate()
    assert process.returncode == 0
    assert "started" in errors
    assert "finished" in errors
    assert "\x1b" not in errors
    assert (tmp_path / "logs" / "one.jsonl").read_text().count("\n") == 2
    assert '"seconds"' in (tmp_path / "logs" / "one.run.json").read_text()


@pytest.mark.parametrize(
    ("body", "last_line"),
    [
        ('raise UserError("it is wrong:\\n do this")', "error: one: it is wrong: do this"),
    ],
)
def test_a_users_error_is_one_line(project, body, last_line):
    process = project(body)
    _, errors = process.communicate()
    assert process.returncode == 1
    assert errors.splitlines()[-1] == last_line
    assert "Traceback" not in errors


def test_a_defect_gives_its_reason_before_its_traceback(project):
    process = project("1 / 0")
    _, errors = process.communicate()
    assert process.returncode == 1
    assert "error: one: ZeroDivisionError: division by zero" in errors
    assert errors.index("error: one") < errors.index("Traceback")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_without_a_traceback(project, number):
    process = project("import time; print('now', flush=True); time.sleep(60)")
    assert process.stdout.readline() == "now\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130, errors
    assert "error: one: interrupted" in errors
    assert "Traceback" not in errors


def test_wrong_parameters_end_it_before_it_starts(project, tmp_path):
    (tmp_path / "params.yaml").write_text("seed: many\n")
    process = project("print('ran')")
    output, errors = process.communicate()
    assert process.returncode == 1
    assert output == ""
    assert "error: one: params.yaml: seed is 'many'" in errors


def test_help_and_unknown_stages(project):
    process = project("pass", "--help")
    output, _ = process.communicate()
    assert process.returncode == 0
    assert "A stage for the test." in output
    process = project("pass", "two")
    _, errors = process.communicate()
    assert process.returncode == 2
    assert "no stage is called 'two' (known: one)" in errors
    process = project("pass", "one", "--help")
    output, _ = process.communicate()
    assert "parameters: seed" in output


def test_stages_have_the_variants_that_the_pipeline_runs():
    listed = subprocess.run(
        ["dvc", "stage", "list", "--names-only"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=True,
    )
    ran = [name.partition("@") for name in listed.stdout.split()]
    named = {stage for stage, at, _ in ran if at}
    assert named == {"compress", "fuzz", "repair", "trigger"}
    for name in named:
        script = load_script(ROOT / "stages", name)
        variants = script.variants(read_params(script.Params, ROOT / "params.yaml"))
        assert sorted(variants) == sorted(variant for stage, _, variant in ran if stage == name)
