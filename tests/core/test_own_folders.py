"""What is run lies where nobody else can write: on the whole way to it, as ssh has it."""

import os
import shutil
import stat

import pytest

from asterism.core.files.folders import make_private_folder, require_private
from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.differential.report.confirming import run_script
from rights import entered_by_others

#: A user who is nobody else on a machine.
SOMEBODY = 65534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def base():
    """A folder that others may enter, with a program in ``own/sub``."""
    with entered_by_others() as folder:
        for place in ("own", "elsewhere"):
            (folder / place / "sub").mkdir(parents=True)
            (folder / place / "sub/program").write_text("print(1)\n")
        for path in folder.rglob("*"):
            path.chmod(0o755)
        yield folder


def opened(place, mode):
    return lambda base: (base / place).chmod(mode)


def given_away(place):
    return lambda base: os.chown(base / place, SOMEBODY, SOMEBODY, follow_symlinks=False)


def through(link, target, then=lambda base: None):
    """The way leads through a link, in the place of what is there."""

    def change(base):
        shutil.rmtree(base / link)
        (base / link).symlink_to(target)
        then(base)

    return change


def both(*changes):
    return lambda base: [change(base) for change in changes]


def circle(base):
    shutil.rmtree(base / "own")
    (base / "own").symlink_to("other")
    (base / "other").symlink_to("own")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (opened("own/sub/program", 0o757), "own/sub/program"),
        (opened("own/sub", 0o777), "own/sub"),
        (opened("own/sub", 0o775), "own/sub"),
        (opened("own", 0o777), "own"),
        (opened("own/sub/program", 0o1757), "own/sub/program"),
        (through("own/sub", "../elsewhere/sub", opened("elsewhere", 0o777)), "elsewhere"),
        (through("own/sub", "../own/../elsewhere/sub", opened("elsewhere", 0o777)), "elsewhere"),
        (both(opened("own", 0o700), through("own/sub", "../elsewhere/sub"),
              opened("elsewhere/sub", 0o777)), "elsewhere/sub"),
        (circle, ""),
        pytest.param(given_away("own/sub/program"), "own/sub/program", marks=AS_ROOT),
        pytest.param(given_away("own/sub"), "own/sub", marks=AS_ROOT),
        pytest.param(given_away("own"), "own", marks=AS_ROOT),
        pytest.param(both(given_away("own"), opened("own", 0o700)), "own", marks=AS_ROOT),
        pytest.param(both(opened("own", 0o1777), given_away("own/sub")), "own/sub", marks=AS_ROOT),
        pytest.param(both(given_away("own"), opened("own", 0o1777)), "own", marks=AS_ROOT),
        pytest.param(
            through("own/sub", "../elsewhere/sub", given_away("own/sub")), "own/sub", marks=AS_ROOT
        ),
        pytest.param(
            through("own/sub", "../elsewhere/sub", given_away("elsewhere/sub/program")),
            "elsewhere/sub/program",
            marks=AS_ROOT,
        ),
    ],
)  # fmt: skip
def test_what_others_can_change_is_not_run(base, change, named):
    change(base)
    with pytest.raises(UserError) as error:
        require_private(base / "own/sub/program")
    said = str(error.value)
    assert f"{base / named}`" in said or "circle" in said, "a command mends it"


@pytest.mark.parametrize(
    "change",
    [
        lambda base: None,
        opened("own", 0o1777),
        both(opened("own", 0o700), opened("own/sub", 0o777)),
        through("own/sub", "../elsewhere/sub"),
    ],
    ids=["plain", "like /tmp", "below a closed one", "own link"],
)
def test_what_nobody_else_can_change_is_run(base, change):
    change(base)
    require_private(base / "own/sub/program")


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_scripts_are_not_run_among_temporary_files_that_others_can_rename(base, monkeypatch, mode):
    (base / "own").chmod(mode)
    monkeypatch.setattr("tempfile.tempdir", str(base / "own"))
    ran = base / "ran"
    (base / "check.py").write_text(f"open({str(ran)!r}, 'w')")
    if mode & stat.S_ISVTX:
        assert run_script(base / "check.py").status == 0 and ran.exists()
        return
    with pytest.raises(UserError, match=r"chmod go-w .*TMPDIR"):
        run_script(base / "check.py")
    assert not ran.exists()


def test_a_folder_for_programs_is_made_for_its_user_alone(base, monkeypatch):
    monkeypatch.setenv("ASTERISM_PROGRAMS_ROOT", str(base / "a/b"))
    before = os.umask(0)
    try:
        made = make_private_folder(machine.programs_root() / "c")
    finally:
        os.umask(before)
    assert made == base / "a/b/c"
    assert {(base / part).stat().st_mode & 0o777 for part in ("a", "a/b", "a/b/c")} == {0o700}
    (base / "a").chmod(0o777)
    with pytest.raises(UserError, match=r"chmod go-w .*programs\.root"):
        make_private_folder(made)
