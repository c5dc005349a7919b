"""A project of the user's own, made by ``asterism new`` or by ``asterism vet``."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import yaml
from workspace import ROOT

from asterism.cli import main
from asterism.config import check_params
from asterism.core.messages.errors import UserError
from asterism.project import CODE, FILES, check_code, new_project, update_project
from asterism.sweep.workspace import git


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
    assert git(folder, "status", "--porcelain") == "?? model.onnx"
    tracked = set(git(folder, "ls-files").splitlines())
    wanted = git(ROOT, "ls-files", "--", *FILES).splitlines()
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
    git(tmp_path, "commit", "--quiet", "--all", "--message", "old")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["asterism", "check"])
    with pytest.raises(SystemExit):
        main()
    assert "says Asterism 0.0.1" in capsys.readouterr().err
    update_project(tmp_path)
    check_code(tmp_path)
    assert git(tmp_path, "diff", "--name-only") == CODE.as_posix(), "parameters stay"
    with pytest.raises(UserError, match=r"not committed \(stages/asterism.json\)"):
        update_project(tmp_path)


def test_nothing_of_the_users_is_overwritten(tmp_path):
    (tmp_path / "conf").mkdir()
    with pytest.raises(UserError, match="has conf already"):
        new_project(tmp_path)
    git(tmp_path, "init", "--quiet")
    with pytest.raises(UserError, match="belongs to the git repository"):
        new_project(tmp_path / "inner")
    with pytest.raises(UserError, match=r"no stages/asterism\.json"):
        update_project(tmp_path)


@pytest.mark.slow
def test_an_installed_package_vets_from_an_empty_folder(tmp_path):
    source = tmp_path / "source"
    listed = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    run = {"check": True, "capture_output": True, "text": True}
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([*pip, *build, str(source)], **run)
    shutil.rmtree(source)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], **run)
    python = tmp_path / "venv/bin/python"
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    place = next((tmp_path / "venv").rglob("site-packages"))
    (place / "libraries.pth").write_text("\n".join(libraries) + "\n")
    (wheel,) = tmp_path.glob("asterism-*.whl")
    pip[0] = str(python)
    subprocess.run([*pip, "install", "--no-deps", "--force-reinstall", str(wheel)], **run)
    models, empty = tmp_path / "models", tmp_path / "empty"
    models.mkdir()
    empty.mkdir()
    maker = "import sys; from pathlib import Path; from digit_pairs import make_pair; "
    maker += "make_pair(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", maker, str(models)], cwd=ROOT / "tests/vetting", **run)
    command = [
        *(str(tmp_path / "venv/bin/asterism"), "vet"),
        *(str(models / "original.onnx"), str(models / "int8.onnx")),
        *("--inputs", str(models / "inputs.npz"), "-S", "vet.search.seeds=10"),
    ]
    known = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=empty, env=known, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "made a project in" in done.stdout and "verdict: " in done.stdout
    page = empty / "sweeps/vet-int8/points/0000/vet/index.html"
    assert "int8.onnx" in page.read_text()
    assert git(empty, "status", "--porcelain") == ""
