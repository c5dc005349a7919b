"""What a stage's process says and how it ends."""

import subprocess
import sys

import pytest
from imports import ROOT

from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script
from asterism.dvc_hydra.repository import open_repository

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

    def start(body):
        (tmp_path / "stages" / "one.py").write_text(SCRIPT.format(body=body))
        command = [sys.executable, "stages", "one"]
        return subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=False)

    return start


def test_a_stage_that_succeeds_logs_and_records_its_time(project, tmp_path):
    ended = project("pass")
    assert ended.returncode == 0
    assert "started" in ended.stderr and "finished" in ended.stderr
    assert "\x1b" not in ended.stderr
    assert (tmp_path / "logs" / "one.jsonl").read_text().count("\n") == 2
    assert '"seconds"' in (tmp_path / "logs" / "one.run.json").read_text()


def test_wrong_parameters_end_it_before_it_starts(project, tmp_path):
    (tmp_path / "params.yaml").write_text("seed: many\n")
    ended = project("print('ran')")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "params.yaml: seed is 'many'" in ended.stderr


def test_stages_have_the_variants_that_the_pipeline_runs():
    ran = [name.partition("@") for name in open_repository(ROOT).stages]
    named = {stage for stage, at, _ in ran if at}
    assert named == {"compress", "fuzz", "repair", "trigger"}
    for name in named:
        script = load_script(ROOT / "stages", name)
        variants = script.variants(read_params(script.Params, ROOT / "params.yaml"))
        assert sorted(variants) == sorted(variant for stage, _, variant in ran if stage == name)
