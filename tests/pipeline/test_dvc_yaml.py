"""dvc.yaml tells the truth about what each stage uses."""

import re
from pathlib import Path

import pytest
import yaml
from imports import ROOT, packages_used_by

PIPELINE = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
STAGES = sorted(PIPELINE)


def facts(stage):
    return PIPELINE[stage].get("do", PIPELINE[stage])


def script(stage):
    return ROOT / "stages" / f"{stage}.py"


def test_every_script_is_a_stage_and_the_reverse():
    scripts = {p.stem for p in (ROOT / "stages").glob("*.py") if not p.stem.startswith("_")}
    assert scripts == set(STAGES)


@pytest.mark.parametrize("stage", STAGES)
def test_code_dependencies_are_exactly_what_the_script_imports(stage):
    declared = {d for d in facts(stage)["deps"] if d.startswith("src/")}
    assert declared == packages_used_by(script(stage))
    assert f"stages/{stage}.py" in facts(stage)["deps"]


@pytest.mark.parametrize("package", ["judging", "triage", "reporting"])
def test_what_comes_after_running_models_runs_none_anew(package):
    path = f"src/asterism/libraries/{package}"
    assert (ROOT / path).is_dir()
    users = {stage for stage in STAGES if path in facts(stage)["deps"]}
    assert users <= {"judge_models", "triage_findings"}


@pytest.mark.parametrize("stage", STAGES)
def test_parameters_are_exactly_those_that_the_script_reads(stage):
    source = script(stage).read_text(encoding="utf-8")
    body = source.split("class Params(Section):")[1].split("\ndef ")[0]
    fields = set(re.findall(r"^    (\w+): ", body, flags=re.MULTILINE))
    assert {p.split(".")[0] for p in facts(stage).get("params", [])} == fields


@pytest.mark.parametrize("stage", STAGES)
def test_scripts_are_thin_and_results_have_their_names(stage):
    assert len(script(stage).read_text(encoding="utf-8").splitlines()) <= 75
    assert facts(stage)["cmd"].split()[:3] == ["python", "stages", stage]
    outs = [*facts(stage).get("outs", []), *facts(stage).get("metrics", [])]
    for out in outs:
        name = out if isinstance(out, str) else next(iter(out))
        assert re.match(rf"(artifacts/{stage}(/|$)|metrics/{stage}[-.]|report/index.html)", name)


@pytest.mark.parametrize("stage", ["attack", "measure_driving"])
def test_what_adds_natural_images_of_the_users_depends_on_their_file(stage):
    assert "${attack.semantic_path}" in facts(stage)["deps"]


def test_the_files_that_outputs_are_kept_in_are_ignored_by_git():
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    for folder in ("artifacts", "metrics", "plots", "report", "logs"):
        assert f"/{folder}/" in ignored


def test_no_source_file_is_too_long():
    long = {
        str(p.relative_to(ROOT)): n
        for p in Path(ROOT / "src").rglob("*.py")
        if (n := len(p.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert not long
