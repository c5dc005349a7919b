"""dvc.yaml tells the truth about what each stage uses."""

import re
from pathlib import Path
from typing import Annotated, get_args

import pytest
import yaml
from dependencies import ALL, EACH, reruns_table, script, table
from imports import ROOT, packages_used_by
from pydantic import TypeAdapter, ValidationError

from asterism.config import Params
from asterism.core.parameters.params import read_params
from asterism.core.parameters.validation import Label
from asterism.core.running.stage import load_script
from asterism.dflare.params import PairParams
from asterism.dvc_hydra.cache_files import is_result
from asterism.dvc_hydra.repository import Repository

PIPELINE = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
STAGES = sorted(PIPELINE)


def facts(stage):
    return PIPELINE[stage].get("do", PIPELINE[stage])


def outputs(stage):
    """Paths of all that a stage writes."""
    listed = [o for kind in ("outs", "metrics", "plots") for o in facts(stage).get(kind, [])]
    return [out if isinstance(out, str) else next(iter(out)) for out in listed]


def test_every_script_is_a_stage_and_the_reverse():
    scripts = {p.stem for p in (ROOT / "stages").glob("*.py") if not p.stem.startswith("_")}
    assert scripts == set(STAGES)


@pytest.mark.parametrize("stage", STAGES)
def test_code_dependencies_are_exactly_what_the_script_imports(stage):
    declared = {d for d in facts(stage)["deps"] if d.startswith("src/")}
    assert declared == packages_used_by(script(stage))
    assert f"stages/{stage}.py" in facts(stage)["deps"]


def test_stages_declare_little_that_they_do_not_reach():
    shares = {stage: declared / reached for stage, declared, reached in table()}
    assert shares.pop("all") <= ALL
    assert max(shares.values()) <= EACH


def test_the_docs_say_what_reruns():
    assert reruns_table() in (ROOT / "docs/reruns.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("package", ["oracle", "shrinking", "triage", "report"])
def test_what_comes_after_running_models_runs_none_anew(package):
    path = f"src/asterism/differential/{package}"
    assert (ROOT / path).is_dir()
    users = {stage for stage in STAGES if path in facts(stage)["deps"]}
    assert users <= {"judge_models", "triage_findings"}


@pytest.mark.parametrize("stage", STAGES)
def test_parameters_are_exactly_those_that_the_script_reads(stage):
    fields = load_script(ROOT / "stages", stage).Params.model_fields
    assert {p.split(".")[0] for p in facts(stage).get("params", [])} == set(fields)


@pytest.mark.parametrize("stage", STAGES)
def test_scripts_are_thin_and_results_have_their_names(stage):
    assert len(script(stage).read_text(encoding="utf-8").splitlines()) <= 75
    assert facts(stage)["cmd"].split()[:3] == ["python", "stages", stage]
    folders = rf"artifacts/{stage}(/|$)|metrics/{stage}[-.]|plots/{stage}[-/]"
    for name in outputs(stage):
        assert re.match(rf"({folders}|report/(index.html|vet)$)", name)


@pytest.mark.parametrize("stage", STAGES)
def test_commands_quote_what_is_filled_in_and_one_name_is_all(stage):
    command = facts(stage)["cmd"]
    assert "\n" not in command
    assert re.fullmatch(rf"python stages {stage}( '\$\{{(key|item\.criterion)\}}')?", command)


def declared_type(name):
    """The annotations and marks of a parameter, as ``section.name``, in each section's variants."""
    found = [Params]
    for part in name.split("."):
        fields = [s.model_fields[part] for s in found if part in s.model_fields]
        found = [m for field in fields for m in members(field.annotation)]
    return fields


def members(annotation):
    inside = [m for argument in get_args(annotation) for m in members(argument)]
    return [annotation, *inside] if isinstance(annotation, type) else inside


def test_what_dvc_fills_in_is_a_name_or_a_path_on_this_machine():
    """By ``${…}`` in commands, dependencies and outputs; ``key`` and ``item`` are of the first."""
    text = (ROOT / "dvc.yaml").read_text(encoding="utf-8")
    filled = set(re.findall(r"\$\{([^}]*)\}", text))
    assert {"pairs", "compression", "fuzz.criteria", "key", "item.criterion"} <= filled
    for name in ("pairs", "compression"):
        (field,) = declared_type(name)
        assert get_args(field.annotation)[0] == Label
    assert set(filled) & {"item.original", "item.compressed"} <= {
        f"item.{name}" for name in PairParams.model_fields
    }
    paths = filled - {"pairs", "compression", "fuzz.criteria", "key", "item.criterion"}
    for name in paths:
        fields = (
            [PairParams.model_fields[name.removeprefix("item.")]]
            if name.startswith("item.")
            else declared_type(name)
        )
        assert fields, name
        for field in fields:
            schema = TypeAdapter(Annotated[field.annotation, *field.metadata])
            for bad in ("s3://bucket/x", "a\nb", ""):
                with pytest.raises(ValidationError):
                    schema.validate_python(bad)


def test_code_and_outputs_lie_apart():
    for stage in STAGES:
        assert outputs(stage)
        assert all(map(is_result, outputs(stage)))
    code = {d for s in STAGES for d in facts(s)["deps"] if d.startswith(("src/", "stages/"))}
    assert not any(is_result(path) for path in code)


@pytest.mark.parametrize(
    ("stage", "parameter"),
    [
        ("attack", "attack.semantic_path"),
        ("measure_driving", "attack.semantic_path"),
        ("measure_driving", "driving.path"),
    ],
)
def test_what_reads_images_of_the_users_depends_on_them(stage, parameter):
    assert f"${{{parameter}}}" in facts(stage)["deps"]


def test_the_folders_of_results_and_pages_are_ignored_by_git():
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    results = {"artifacts", "metrics", "plots", "report", "logs"}
    pages = {"sweeps", "demo", "compare-libraries", "compare-versions"}
    assert {f"/{folder}/" for folder in results | pages} <= {*ignored}


def test_no_source_file_is_too_long():
    long = {
        str(p.relative_to(ROOT)): n
        for p in Path(ROOT / "src").rglob("*.py")
        if (n := len(p.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert not long


def test_stages_have_the_variants_that_the_pipeline_runs():
    ran = [name.partition("@") for name in Repository(ROOT).stages]
    named = {stage for stage, at, _ in ran if at}
    assert named == {"compress", "fuzz", "repair", "trigger"}
    for name in named:
        script = load_script(ROOT / "stages", name)
        variants = script.variants(read_params(script.Params, ROOT / "params.yaml"))
        assert sorted(variants) == sorted(variant for stage, _, variant in ran if stage == name)
