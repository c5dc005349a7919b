"""dvc.lock as blocks of text."""

import pytest
from imports import ROOT

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.lockfile import (
    LOCK_FILE,
    kept_whole,
    mend,
    set_entries,
    set_order,
    stage_names,
)

#: As much of a stage's entry as no stage of the project has.
ENTRY = {"cmd": "python stages fuzz new\n\n# with an empty line\n"}


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
    set_entries(tmp_path, {"fuzz@new": ENTRY})
    assert stage_names(tmp_path) == [*moved, "fuzz@new"]
    entries = load_yaml(str(tmp_path / LOCK_FILE))["stages"]
    assert entries == load_yaml(str(ROOT / LOCK_FILE))["stages"] | {"fuzz@new": ENTRY}


def test_a_first_stage_and_a_file_that_somebody_has_edited(tmp_path):
    assert stage_names(tmp_path) == []
    set_entries(tmp_path, {"fuzz@new": ENTRY})
    text = (tmp_path / LOCK_FILE).read_text()
    assert text.startswith("schema: '2.0'\nstages:\n  fuzz@new:\n    cmd: ")
    (tmp_path / LOCK_FILE).write_text("# mine\n" + text)
    with pytest.raises(UserError, match="not as DVC writes it"):
        stage_names(tmp_path)


def test_what_a_kill_leaves_of_a_file_that_dvc_writes_is_mended(tmp_path):
    set_entries(tmp_path, {"a": ENTRY, "b": ENTRY})
    whole = (tmp_path / LOCK_FILE).read_bytes()
    killed = kept_whole(tmp_path)
    killed.__enter__()
    (tmp_path / LOCK_FILE).write_bytes(whole[:50])
    mend(tmp_path)
    assert (tmp_path / LOCK_FILE).read_bytes() == whole
    with kept_whole(tmp_path):
        set_entries(tmp_path, {"c": ENTRY})
    (tmp_path / LOCK_FILE).write_text("mine")
    mend(tmp_path)
    assert (tmp_path / LOCK_FILE).read_text() == "mine", "only what DVC was writing is mended"


@pytest.mark.parametrize("before", [True, False])
def test_where_it_is_not_to_stand_the_file_is_as_before(tmp_path, before):
    if before:
        set_entries(tmp_path, {"a": ENTRY})
    with pytest.raises(UserError), kept_whole(tmp_path):
        set_entries(tmp_path, {"b": ENTRY})
        raise UserError("rejected")
    assert stage_names(tmp_path) == ["a"] * before
    assert (tmp_path / LOCK_FILE).exists() is before
