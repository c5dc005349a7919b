"""A project of the user's own, made by ``asterism new`` or by ``asterism vet``."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from workspace import ROOT, copy_tree

from asterism.cli import run
from asterism.comparing.environment_making import find_python
from asterism.config import check_params
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.local_settings import default_remote
from asterism.project import (
    CODE,
    FILES,
    WITHIN,
    check_code,
    find_project_folder,
    make_project,
    new_project,
    share_project,
    update_project,
)
from asterism.sweep import sharing
from asterism.sweep.workspace import run_git


@pytest.fixture(autouse=True)
def nobody_known_to_git(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def test_a_new_project_has_all_files_committed(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"mine")
    said = new_project(folder)
    assert str(folder) in said[0] and "user.email" in said[-1]
    assert run_git(folder, "status", "--porcelain") == "?? model.onnx"
    tracked = set(run_git(folder, "ls-files").splitlines())
    wanted = run_git(ROOT, "ls-files", "--", *FILES).splitlines()
    assert tracked == {*wanted, CODE.as_posix(), "requirements.lock"}
    check_params(folder)
    check_code(folder)


def test_stages_depend_on_the_installed_package_in_the_place_of_the_source(tmp_path):
    new_project(tmp_path / "own")
    stages = yaml.safe_load((tmp_path / "own/dvc.yaml").read_text())["stages"]
    originals = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    assert stages.keys() == originals.keys()
    for name, entry in stages.items():
        found = entry.get("do", entry)["deps"]
        wanted = originals[name].get("do", originals[name])["deps"]
        assert found.count(CODE.as_posix()) == 1
        others = [dep for dep in wanted if not dep.startswith("src/")]
        assert [dep for dep in found if dep != CODE.as_posix()] == others


def test_another_version_is_rejected_until_the_project_is_updated(tmp_path, monkeypatch, capsys):
    new_project(tmp_path)
    (tmp_path / CODE).write_text(json.dumps({"version": "0.0.1", "sha256": "0"}))
    (tmp_path / "params.yaml").write_text((tmp_path / "params.yaml").read_text() + "# mine\n")
    run_git(tmp_path, "commit", "--quiet", "--all", "--message", "old")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["asterism", "check"])
    with pytest.raises(SystemExit):
        run()
    assert "says Asterism 0.0.1" in capsys.readouterr().err
    update_project(tmp_path)
    check_code(tmp_path)
    assert run_git(tmp_path, "diff", "--name-only") == CODE.as_posix(), "parameters stay"
    with pytest.raises(UserError, match=r"\(stages/asterism.json\)"):
        update_project(tmp_path)


def test_nothing_of_the_users_is_overwritten(tmp_path):
    (tmp_path / "conf").mkdir()
    with pytest.raises(UserError, match="has conf already"):
        new_project(tmp_path)
    run_git(tmp_path, "init", "--quiet")
    with pytest.raises(UserError, match="git repository"):
        new_project(tmp_path / "inner")
    with pytest.raises(UserError, match=r"no stages/asterism\.json"):
        update_project(tmp_path)


def test_a_project_within_the_users_repository_is_made_where_git_ignores_it(tmp_path):
    mine = tmp_path / "mein projekt"
    (mine / "models").mkdir(parents=True)
    run_git(mine, "init", "--quiet")
    for folder in (mine, mine / "models"):
        assert find_project_folder(folder) == mine / WITHIN
    with pytest.raises(UserError, match="git repository"):
        new_project(mine / "own")
    assert not (mine / "own").exists()
    make_project(mine / WITHIN)
    assert run_git(mine, "status", "--porcelain") == ""
    assert run_git(mine / WITHIN, "status", "--porcelain") == ""
    for folder in (mine, mine / "models", mine / WITHIN, mine / WITHIN / "stages"):
        assert find_project_folder(folder) == mine / WITHIN
    assert find_project_folder(tmp_path) == tmp_path
    new_project(tmp_path / "own")
    assert find_project_folder(tmp_path / "own/stages") == tmp_path / "own"


@pytest.mark.slow
def test_what_a_project_shares_is_committed_and_nothing_is_pulled_of_what_never_ran(
    tmp_path, monkeypatch
):
    """With a folder whose name DVC itself could not write into its settings."""
    folder, store = tmp_path / "own", tmp_path / "störe, 1"
    store.mkdir()
    new_project(folder)
    said = share_project(folder, str(store))
    assert said[-1] == ".dvc/config is committed" and run_git(folder, "status", "--porcelain") == ""
    assert default_remote(folder) == ("store", str(store))
    assert len(share_project(folder, str(store))) == 1, "nothing changed"
    monkeypatch.chdir(folder)
    assert sharing.push(folder) == 0
    assert sharing.pull(folder, None) == 0
    subprocess.run(["dvc", "repro", "--quiet", "library_versions"], check=True)
    assert sharing.push(folder) == 0
    assert [path for path in store.rglob("*") if path.is_file()]
    made = folder / "artifacts/library_versions/env.json"
    made.unlink()
    assert sharing.pull(folder, None) == 0
    assert made.exists()


RUN = {"check": True, "capture_output": True, "text": True}
PIP = ["-m", "pip", "--disable-pip-version-check"]


def build_wheel(folder):
    """The package as pip builds it of a copy of the source, which is gone afterwards."""
    source = folder / "source"
    copy_tree(source)
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, *PIP, *build, str(source)], **RUN)
    shutil.rmtree(source)
    (wheel,) = folder.glob("asterism-*.whl")
    return wheel


def make_environment(folder, python=sys.executable):
    """An empty virtual environment; its Python."""
    subprocess.run([python, "-m", "venv", str(folder)], **RUN)
    return folder / "bin/python"


def make_models(folder):
    """An ONNX classifier, its int8 version, and inputs."""
    folder.mkdir()
    maker = "import sys; from pathlib import Path; from digit_pairs import make_pair; "
    maker += "make_pair(Path(sys.argv[1]))"
    command = [sys.executable, "-c", maker, str(folder)]
    subprocess.run(command, cwd=ROOT / "tests/vetting", **RUN)
    return folder


def outside():
    """The environment without what leads Python to this checkout."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


def run_there(folder, python, *words, **environment):
    """A command of the package that is installed beside a Python."""
    return subprocess.run(
        [str(python.parent / "asterism"), *map(str, words)],
        cwd=folder, env=outside() | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def vet_there(folder, python, models):
    """Vet the pair in a folder without a project, and look at what is left."""
    folder.mkdir()
    files = (models / "original.onnx", models / "int8.onnx", "--inputs", models / "inputs.npz")
    done = run_there(folder, python, "vet", *files, "-S", "vet.search.seeds=10")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "made a project in" in done.stdout and "verdict: " in done.stdout
    page = folder / "sweeps/vet-int8/points/0000/vet/index.html"
    assert "int8.onnx" in page.read_text()
    assert run_git(folder, "status", "--porcelain") == ""


@pytest.mark.slow
def test_an_installed_package_vets_from_an_empty_folder(tmp_path):
    wheel, python = build_wheel(tmp_path), make_environment(tmp_path / "venv")
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    place = next((tmp_path / "venv").rglob("site-packages"))
    (place / "libraries.pth").write_text("\n".join(libraries) + "\n")
    subprocess.run([python, *PIP, "install", "--no-deps", "--force-reinstall", str(wheel)], **RUN)
    vet_there(tmp_path / "empty", python, make_models(tmp_path / "models"))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_smallest_installation_vets_onnx_files_and_names_the_extra_of_others(tmp_path, version):
    """What `pip install asterism` brings, in an environment that has nothing else."""
    try:
        interpreter = find_python(version)
    except UserError as missing:
        pytest.skip(str(missing))
    wheel, python = build_wheel(tmp_path), make_environment(tmp_path / "venv", interpreter)
    command = [python, *PIP, "install", "--constraint", ROOT / "requirements.lock", wheel]
    installed = subprocess.run(
        list(map(str, command)), env=outside(), capture_output=True, text=True, check=False
    )
    if re.search(r"connection|resolve host|timed out", installed.stderr, re.IGNORECASE):
        pytest.skip("no package index can be reached from here")
    assert installed.returncode == 0, installed.stderr[-2000:]
    asked = [python, *PIP, "list", "--format=freeze"]
    listed = subprocess.run(asked, env=outside(), **RUN).stdout.lower()
    for package in ("tensorflow", "keras", "torch", "jax", "openvino", "scikit-learn"):
        assert f"\n{package}==" not in listed, package
    models = make_models(tmp_path / "models")
    done = run_there(tmp_path, python, "check", models / "original.onnx")
    assert done.returncode == 0 and "vet a compressed version" in done.stdout, done.stderr
    assert run_there(tmp_path, python, "new", "own").returncode == 0
    state = {"ASTERISM_STATE_ROOT": str(tmp_path / "state")}
    done = run_there(tmp_path / "own", python, "repro", "train_classifier", **state)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert re.search(r"is not installed: run `pip install 'asterism\[\w+\]'`", done.stderr)
    vet_there(tmp_path / "empty", python, models)
