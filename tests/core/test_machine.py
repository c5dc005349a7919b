import os
import resource
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from asterism.core.files import artifacts
from asterism.core.files.limits import require_size_within_limit
from asterism.core.messages.errors import UserError
from asterism.core.settings import machine


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


def test_limits_come_from_the_environment_else_the_file_else_a_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert machine.limit("limits.array_mb") == 3000 * machine.MB
    Path("machine.yaml").write_text("limits: {array_mb: 7, text_mb: 0.5}\n")
    assert machine.limit("limits.array_mb") == 7 * machine.MB
    with pytest.raises(UserError, match=r"limits\.text_mb in machine\.yaml .*MB"):
        machine.limit("limits.text_mb")
    monkeypatch.setenv("ASTERISM_LIMITS_ARRAY_MB", "8")
    assert machine.limit("limits.array_mb") == 8 * machine.MB


def test_what_is_over_a_limit_that_the_user_raises_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    artifacts.write_arrays(tmp_path / "x.npz", a=np.zeros(250_001))
    monkeypatch.setenv("ASTERISM_LIMITS_ARRAY_MB", "2")
    with pytest.raises(UserError, match=r"x\.npz .* 2 MB.*raise"):
        artifacts.read_arrays(tmp_path / "x.npz")
    monkeypatch.setenv("ASTERISM_LIMITS_ARRAY_MB", "3")
    assert artifacts.read_arrays(tmp_path / "x.npz")["a"].size == 250_001


def test_a_sparse_matrix_that_declares_too_long_rows_is_rejected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    artifacts.write_sparse(tmp_path / "s.npz", sparse.csr_array((2, 125_001)))
    monkeypatch.setenv("ASTERISM_LIMITS_ARRAY_MB", "1")
    with pytest.raises(UserError, match=r"s\.npz .*rows.* 1 MB.*raise"):
        artifacts.read_sparse(tmp_path / "s.npz")
    monkeypatch.setenv("ASTERISM_LIMITS_ARRAY_MB", "2")
    assert artifacts.read_sparse(tmp_path / "s.npz").shape == (2, 125_001)


def test_a_process_takes_no_more_memory_than_it_may(monkeypatch):
    """Of this machine's limit and the one that it has, the lower one counts."""
    monkeypatch.setenv("ASTERISM_LIMITS_PROCESS_MB", "123456")
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    assert soft == resource.RLIM_INFINITY or soft > 123456 * machine.MB
    if (child := os.fork()) == 0:
        machine.limit_memory()
        first = resource.getrlimit(resource.RLIMIT_DATA) == (123456 * machine.MB, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (100_000 * machine.MB, hard))
        machine.limit_memory()
        second = resource.getrlimit(resource.RLIMIT_DATA) == (100_000 * machine.MB, hard)
        os._exit(0 if first and second else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_are_the_processors_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 4, 6}, raising=False)
    assert machine.available_threads() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for found, expected in ((7, 7), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda found=found: found)
        assert machine.available_threads() == expected


def test_a_size_may_be_the_limit_itself(monkeypatch):
    monkeypatch.setenv("ASTERISM_LIMITS_TEXT_MB", "2")
    require_size_within_limit(2 * machine.MB, "limits.text_mb", "x declares texts")
    with pytest.raises(UserError, match=r"x .*2 MB.* 2 MB"):
        require_size_within_limit(2 * machine.MB + 1, "limits.text_mb", "x declares texts")
