"""Folders that cannot be used, as a stage and its parts meet them: one line, and what to do."""

import errno
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

from asterism.core.files.artifacts import replacing, write_arrays, write_json, write_table
from asterism.core.files.os_errors import name_path_in_os_errors, report_os_errors
from asterism.core.messages.errors import UserError
from asterism.criteria.row_file import RowFile
from places import ROOT
from rights import full, obey_modes, read_only
from thinning import every

SCRIPT = '''"""Writes what a stage writes: state of its parts, then a result and metrics."""
from pathlib import Path
from asterism.core.files.artifacts import replacing, write_arrays, write_json, write_table
from asterism.core.parameters.params import ParameterSection
from asterism.core.resuming.work_units import SharedWorkUnits

class Params(ParameterSection):
    seed: int

class Kept:
    def save(self, folder): (folder / "kept").touch()
    @classmethod
    def load(cls, folder): return cls()

def run(params):
    SharedWorkUnits("one", "key").gather({"part": lambda _: Kept()}, Kept.load)
    write_json(Path("artifacts/one/facts.json"), ["x" * 100000])
    write_json(Path("metrics/one.json"), {})
'''

LAUNCH = (
    "import sys; from pathlib import Path; from asterism.core.running.stage import main; "
    "sys.exit(main(Path('scripts'), ['one'], lambda: None))"
)

SETTING = ", or name another by state.root in machine.yaml or by ASTERISM_STATE_ROOT"


def run_stage(folder, state):
    """What the stage says on standard error."""
    (folder / "scripts").mkdir()
    (folder / "scripts/one.py").write_text(SCRIPT)
    (folder / "params.yaml").write_text("seed: 0\n")
    ended = subprocess.run(
        [sys.executable, "-c", LAUNCH],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "", "ASTERISM_STATE_ROOT": str(state)},
        preexec_fn=obey_modes,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    return [line for line in ended.stderr.splitlines() if line.startswith("error: ")]


@pytest.mark.parametrize("name", every(3, ["artifacts", "metrics", "logs", "state"]))
def test_a_read_only_folder_is_named(tmp_path, name):
    with read_only(tmp_path / name):
        told = run_stage(tmp_path, tmp_path / "state")
    assert told == [
        f"error: one: the folder {tmp_path / name} cannot be used (Permission denied): "
        f"give yourself the right to read and write there{SETTING if name == 'state' else ''}"
    ]


def test_a_state_root_that_cannot_be_made_is_named_by_what_keeps_it_from_that(tmp_path):
    with read_only(tmp_path / "caches"):
        (told,) = run_stage(tmp_path, tmp_path / "caches/mine/state")
    assert f"the folder {tmp_path / 'caches'} cannot be used" in told
    assert told.endswith(SETTING)


@pytest.mark.parametrize("name", every(2, ["artifacts", "artifacts/one", "state"]))
def test_a_file_where_a_folder_should_be_is_named(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    (told,) = run_stage(tmp_path, tmp_path / "state")
    assert f"the file {tmp_path / name} cannot be used" in told
    assert "move it away" in told


@pytest.mark.parametrize("name", every(2, ["artifacts", "logs"]))
def test_a_full_disk_is_named(tmp_path, name):
    with full(tmp_path / name) as disk:
        if name == "logs":
            (disk / "filler").write_bytes(b"x" * os.statvfs(disk).f_bavail * 4096)
        (told,) = run_stage(tmp_path, tmp_path / "state")
    assert f"the folder {disk}" in told
    assert "(No space left on device)" in told


@pytest.mark.parametrize(
    "write",
    [
        lambda folder, numbers: write_arrays(folder / "x.npz", numbers=numbers),
        lambda folder, numbers: write_table(folder / "x.csv", {"numbers": numbers}),
        lambda folder, numbers: write_table(folder / "x.parquet", {"numbers": numbers}),
        lambda folder, numbers: _write_h5(folder / "x.h5", numbers),
    ],
    ids=["npz", "csv", "parquet", "h5"],
)
def test_every_format_says_that_the_disk_is_full(tmp_path, write):
    numbers = np.random.default_rng(0).random(100_000)
    with full(tmp_path / "small") as disk:
        with pytest.raises(UserError) as error, report_os_errors():
            write(disk, numbers)
        assert str(error.value).startswith(
            f"the folder {disk} cannot be used (No space left on device): make room there"
        )
        assert not list(disk.iterdir())


def _write_h5(path, numbers):
    with replacing(path) as temporary, h5py.File(temporary, "w") as file:
        file["numbers"] = numbers


def test_rows_for_which_the_temporary_folder_has_no_room(tmp_path, monkeypatch):
    with full(tmp_path / "small") as disk:
        monkeypatch.setattr("tempfile.tempdir", str(disk))
        rows = RowFile((1000,), np.float64)
        with pytest.raises(UserError, match=rf"the folder {disk} .*make room"), report_os_errors():
            rows.append(np.zeros((100, 1000)))
        del rows


def test_only_what_the_user_can_mend_is_told_so(tmp_path):
    for number in (errno.ENOENT, errno.EBADF, errno.EPIPE):
        with pytest.raises(OSError, match="defect"), report_os_errors():
            raise OSError(number, "defect", str(tmp_path / "x"))
    with pytest.raises(FileExistsError), report_os_errors():
        tmp_path.mkdir()  # a folder belongs there, and there is one


def test_a_name_that_the_system_has_told_is_kept(tmp_path):
    with pytest.raises(PermissionError) as error, name_path_in_os_errors(tmp_path / "b"):
        raise PermissionError(errno.EACCES, "no", "a")
    assert error.value.filename == "a"


def test_a_wrong_machine_yaml_hides_no_rejection(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "machine.yaml").write_text("wrong: 1\n")
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"the file .*file cannot be used"), report_os_errors():
        write_json(tmp_path / "file/x.json", {})


def test_memory_that_does_not_suffice_is_one_line():
    with pytest.raises(UserError, match="Unable to allocate") as told, report_os_errors():
        np.ones(2**60, np.uint8)
    assert "not enough memory" in str(told.value)
