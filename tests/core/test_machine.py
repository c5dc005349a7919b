from pathlib import Path

import pytest

from asterism.core import machine
from asterism.core.errors import UserError


def test_the_data_root_comes_from_the_environment_else_the_file_else_a_default(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASTERISM_DATA_ROOT", raising=False)
    assert machine.data_root() == Path("data")
    Path("machine.yaml").write_text("data:\n  root: /from/file\n")
    assert machine.data_root() == Path("/from/file")
    monkeypatch.setenv("ASTERISM_DATA_ROOT", "/from/environment")
    assert machine.data_root() == Path("/from/environment")


@pytest.mark.parametrize("text", ["data: {rot: x}", "[1]", "data: [", "x"])
def test_a_wrong_machine_file_is_one_line(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASTERISM_DATA_ROOT", raising=False)
    Path("machine.yaml").write_text(text)
    with pytest.raises(UserError, match=r"machine\.yaml"):
        machine.data_root()
