from pathlib import Path

import pytest

from asterism.core import machine
from asterism.core.errors import UserError


def test_the_data_root_comes_from_the_environment_else_the_file_else_a_default(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASTERISM_DATA_ROOT", raising=False)
    assert machine.data_root() == tmp_path / "data"
    Path("machine.yaml").write_text("data:\n  root: /from/file\n")
    assert machine.data_root() == Path("/from/file")
    monkeypatch.setenv("ASTERISM_DATA_ROOT", "/from/environment")
    assert machine.data_root() == Path("/from/environment")


def test_runs_in_workspaces_of_their_own_have_the_projects_roots(tmp_path, monkeypatch):
    for variable in ("ASTERISM_DATA_ROOT", "ASTERISM_STATE_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "machine.yaml").write_text("data: {root: sets}\nstate: {root: /state}\n")
    for below in (".", ".dvc/tmp/exps/tmp1", ".dvc/tmp/asterism/workspaces/a-1/.dvc/tmp/exps/b"):
        (tmp_path / below).mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(tmp_path / below)
        assert machine.data_root() == tmp_path / "sets"
        assert machine.state_root() == Path("/state")
    monkeypatch.setenv("ASTERISM_DATA_ROOT", "others")
    assert machine.data_root() == tmp_path / "others"


@pytest.mark.parametrize("text", ["data: {rot: x}", "[1]", "data: [", "x"])
def test_a_wrong_machine_file_is_one_line(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASTERISM_DATA_ROOT", raising=False)
    Path("machine.yaml").write_text(text)
    with pytest.raises(UserError, match=r"machine\.yaml"):
        machine.data_root()
