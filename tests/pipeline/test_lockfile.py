"""dvc.lock as blocks of text."""

import pytest
from imports import ROOT

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.lockfile import LOCK_FILE, set_order, set_stages, stage_names


class Stage:
    """As much of one of DVC's stages as its entry is made of."""

    name = "fuzz@new"
    cmd = "python stages fuzz new\n\n# with an empty line\n"
    deps = ()
    outs = ()


def test_the_projects_own_file_is_read_and_written_as_dvc_does(tmp_path):
    from dvc.utils.serialize import load_yaml

    before = (ROOT / LOCK_FILE).read_bytes()
    (tmp_path / LOCK_FILE).write_bytes(before)
    names = stage_names(tmp_path)
    assert names == list(load_yaml(str(ROOT / LOCK_FILE))["stages"])
    set_order(tmp_path, names)
    assert (tmp_path / LOCK_FILE).read_bytes() == before

    set_order(tmp_path, [names[3], names[1]])
    moved = [name for name in names if name not in (names[3], names[1])] + [names[3], names[1]]
    assert stage_names(tmp_path) == moved
    set_stages(tmp_path, [Stage])
    assert stage_names(tmp_path) == [*moved, "fuzz@new"]
    entries = load_yaml(str(tmp_path / LOCK_FILE))["stages"]
    assert entries == load_yaml(str(ROOT / LOCK_FILE))["stages"] | {"fuzz@new": {"cmd": Stage.cmd}}


def test_a_first_stage_and_a_file_that_somebody_has_edited(tmp_path):
    assert stage_names(tmp_path) == []
    set_stages(tmp_path, [Stage])
    text = (tmp_path / LOCK_FILE).read_text()
    assert text.startswith("schema: '2.0'\nstages:\n  fuzz@new:\n    cmd: ")
    (tmp_path / LOCK_FILE).write_text("# mine\n" + text)
    with pytest.raises(UserError, match="not as DVC writes it"):
        stage_names(tmp_path)
