"""What lies in the place of a lock, a log or a folder of results, and leads elsewhere."""

import os
import socket

import pytest

from asterism.core.files.artifacts import write_json
from asterism.core.files.locks import hold_lock, hold_lock_now, is_lock_held, share_lock
from asterism.core.files.plain_files import open_log, require_no_links_out_of
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.commands import require_usable
from asterism.dvc_hydra.repository import Repository


def a_folder(path):
    path.mkdir()


def a_pipe(path):
    os.mkfifo(path)


def a_socket(path):
    with socket.socket(socket.AF_UNIX) as bound:
        os.chdir(path.parent)  # whose whole path may be too long
        bound.bind(path.name)


def a_link(path):
    (path.parent / "victim").write_text("of the user")
    path.symlink_to("victim")


def a_dangling_link(path):
    path.symlink_to("nowhere")


STRANGE = pytest.mark.parametrize("strange", [a_folder, a_pipe, a_socket, a_link, a_dangling_link])


def require_named(error, path):
    assert f"{path.name} is a" in str(error.value) and "move it away" in str(error.value)
    assert not (path.parent / "nowhere").exists()
    victim = path.parent / "victim"
    assert not victim.exists() or victim.read_text() == "of the user"


def take(how):
    def take(path):
        with how(path):
            pass

    return take


@pytest.fixture
def in_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@STRANGE
@pytest.mark.parametrize(
    "use",
    [take(hold_lock), take(hold_lock_now), take(share_lock), is_lock_held, open_log],
    ids=["held", "held now", "shared", "is held", "log"],
)
def test_no_lock_or_log_is_opened_that_is_no_file(in_here, strange, use):
    path = in_here / "name"
    strange(path)
    if use is is_lock_held and strange is a_dangling_link:
        assert not is_lock_held(path)
        return
    with pytest.raises(UserError) as error:
        use(path)
    require_named(error, path)


@STRANGE
@pytest.mark.parametrize("name", ["lock", "rwlock", "rwlock.lock", "btime"])
def test_dvc_opens_no_lock_that_is_no_file(in_here, strange, name):
    path = in_here / ".dvc/tmp" / name
    path.parent.mkdir(parents=True)
    strange(path)
    with pytest.raises(UserError) as error:
        Repository(in_here)
    require_named(error, path)


def test_a_list_of_locks_that_is_nested_deeply_is_named(in_here):
    (in_here / ".dvc/tmp").mkdir(parents=True)
    for text in ("[" * 200_000, "{", ""):
        (in_here / ".dvc/tmp/rwlock").write_text(text)
        if len(text) > 1:
            with pytest.raises(UserError, match=r"rwlock .*deep"):
                require_usable(in_here)
        else:
            require_usable(in_here)


def test_dvcs_own_folder_is_no_link(in_here):
    (in_here / ".dvc").mkdir()
    (in_here / "elsewhere").mkdir()
    (in_here / ".dvc/tmp").symlink_to(in_here / "elsewhere")
    with pytest.raises(UserError, match="tmp is a symbolic link"):
        require_usable(in_here)


@pytest.mark.parametrize("link", ["results", "results/a", "results/a/b"])
@pytest.mark.parametrize("absolute", [False, True])
def test_results_are_not_written_through_a_link(in_here, tmp_path_factory, link, absolute):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (in_here / link).parent.mkdir(parents=True, exist_ok=True)
    (in_here / link).symlink_to(elsewhere)
    target = (in_here if absolute else in_here.relative_to(in_here)) / "results/a/b/c.json"
    with pytest.raises(UserError, match=f"{link} is a symbolic link"):
        write_json(target, {})
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("key", ["DATA_ROOT", "STATE_ROOT", "PROGRAMS_ROOT"])
def test_the_users_own_folders_may_be_links(in_here, tmp_path_factory, monkeypatch, key):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setenv(f"ASTERISM_{key}", str(in_here / "named"))
    (in_here / "named").symlink_to(elsewhere)
    write_json(in_here / "named/c.json", {})
    assert (elsewhere / "c.json").exists()


def test_a_result_that_is_a_link_is_replaced(in_here):
    a_link(in_here / "c.json")
    write_json(in_here / "c.json", {})
    assert not (in_here / "c.json").is_symlink()
    assert (in_here / "victim").read_text() == "of the user"


def test_links_out_of_a_folder_are_found_at_any_depth(in_here):
    (in_here / "home/a/b").mkdir(parents=True)
    require_no_links_out_of(in_here / "home")
    require_no_links_out_of(in_here / "not there")
    (in_here / "home/a/b/inside").symlink_to(in_here / "home/a/file")  # as submitit makes them
    require_no_links_out_of(in_here / "home")
    (in_here / "home/a/b/c").symlink_to("../../../nowhere")
    with pytest.raises(UserError, match="a/b/c is a symbolic link"):
        require_no_links_out_of(in_here / "home")
