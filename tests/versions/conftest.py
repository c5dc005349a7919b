"""A project with the file of an old runtime's environment."""

import shutil

import pytest
from old_runtime import install, write_definition

from places import ROOT


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with parameters and one environment, which is not made; the folder of work."""
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    write_definition(tmp_path)
    (tmp_path / "conf/vet").mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def old_runtime(project):
    """The same with the environment made."""
    install(project)
    return project
