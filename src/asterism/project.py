"""A project of the user's own: its files come with the installed package."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from importlib import metadata
from pathlib import Path

from asterism import __version__
from asterism.core.files.artifacts import read_json, replacing
from asterism.core.files.hashes import hash_path
from asterism.core.files.interrupts import postpone_interrupts
from asterism.core.files.temporary import scratch_beside
from asterism.core.messages.errors import UserError, reading
from asterism.dvc_hydra.local_settings import SHARED, set_remote
from asterism.sweep.workspace import git_committer, git_setting, run_git

#: What a project consists of; a checkout of Asterism's source has the same files.
FILES = (
    ".dvc/.gitignore",
    ".dvc/config",
    ".dvc/plots",
    ".dvcignore",
    ".gitignore",
    "conf",
    "dvc.yaml",
    "params.yaml",
    "stages",
)

#: Says which code the project's stages run, in the place of the source that a checkout has.
CODE = Path("stages/asterism.json")

#: Versions of all libraries that are installed.
LIBRARIES = Path("requirements.lock")

#: Dependencies of a stage on the source, one a line of ``dvc.yaml``.
_SOURCE = re.compile(r"(?:^( +- )src/asterism/\S*\n)+", re.MULTILINE)

#: Models that were packed for a run, by their content: the run depends on them.
PACKED = Path("packed")

#: Where a project is made within a git repository of the user's own, which ignores it.
WITHIN = Path(".asterism/project")

_PACKAGE = Path(__file__).resolve().parent


def is_project(folder: Path) -> bool:
    """Whether a folder is the root of a project of Asterism's."""
    return (folder / "dvc.yaml").exists() and (folder / "conf/vet").is_dir()


def find_project_folder(folder: Path) -> Path:
    """Where the project is that a command in a folder works in, or where it would be made.

    That is the folder, where it is a project or belongs to no git repository; else the repository,
    where that is a project; else :data:`WITHIN` it.
    """
    if is_project(folder) or (outer := _repository_of(folder)) is None:
        return folder
    return outer if is_project(outer) else outer / WITHIN


def find_conf_tree(place: Path) -> Path:
    """The tree of configuration of a project, or of one that is still to be made."""
    return place / "conf" if is_project(place) else packaged_conf()


def packaged_conf() -> Path:
    """The tree of configuration that comes with the package."""
    return _files() / "conf"


def make_project(place: Path) -> list[str]:
    """Make a project at :func:`find_project_folder`; what was done, one line each."""
    if place.match(str(WITHIN)):
        ignored = place.parent / ".gitignore"
        ignored.parent.mkdir(exist_ok=True)
        ignored.write_text("*\n", encoding="utf-8")
    return new_project(place)


def new_project(folder: Path) -> list[str]:
    """Make a project in a folder, as a git repository with one commit.

    Stages depend on :data:`CODE` there, so another version of the package runs them anew.

    Args:
        folder: made where it is missing. Files in it stay, and are not committed.

    Returns:
        What was done, one line each.

    Raises:
        UserError: something of a project's is there, or the folder belongs to a git repository
            that does not ignore it.
    """
    tops = {Path(name).parts[0]: None for name in (*FILES, str(LIBRARIES), ".git")}
    if there := [name for name in tops if (folder / name).exists()]:
        raise UserError(f"{folder} has {there[0]} already: make the project in a new folder")
    if (outer := _repository_of(folder)) and not _is_ignored(folder):
        raise UserError(
            f"{folder} belongs to the git repository {outer}: make the project outside of it, or "
            f"in a folder that git ignores ({WITHIN} is one that `asterism vet` makes)"
        )
    folder.mkdir(parents=True, exist_ok=True)
    said = [f"made a project in {folder.resolve()}"]
    with scratch_beside(folder / "project") as made:
        _write_files(made)
        run_git(made, "init", "--quiet", "--initial-branch", "main")
        for key, value in git_committer(made).items():
            if git_setting(made, key) is None:
                run_git(made, "config", key, value)
                said.append(f"git has no {key} here; this repository uses {value}")
        _commit(made, f"A project of Asterism {__version__}")
        with postpone_interrupts():
            for name in tops:
                (made / name).replace(folder / name)
    return said


def share_project(root: Path, url: str) -> list[str]:
    """Make a folder or an address the remote that all share; what was done, one line each.

    In a project of the user's own the settings are committed, as runs start from the commit.

    Args:
        root: the workspace.
        url: a path from the root of the file system, or an address as DVC takes it.
    """
    set_remote(root, url)
    said = [f"results are shared at {url}: `asterism push` sends them, `asterism pull` gets them"]
    if not run_git(root, "status", "--porcelain", "--", SHARED):
        return said
    if (root / CODE).exists():
        run_git(
            root, "commit", "--quiet", "--message", f"Results are shared at {url}", "--", SHARED
        )
        return [*said, f"{SHARED} is committed"]
    return [*said, f"commit {SHARED}, so that others have it"]


def update_project(folder: Path) -> list[str]:
    """Bring a project's files to the version of the package that is installed.

    The parameters stay, if they are still possible; all other files are written anew. Nothing is
    committed, so ``git diff`` shows what changed.

    Returns:
        What was done, one line each.

    Raises:
        UserError: the folder is no project, or has changes that are not committed.
    """
    if not (folder / CODE).exists():
        raise UserError(f"{folder} has no {CODE}: it is no project made by `asterism new`")
    if changed := run_git(folder, "status", "--porcelain", "--untracked-files=no"):
        raise UserError(f"{folder} has changes that are not committed ({changed.split()[1]})")
    parameters = (folder / "params.yaml").read_bytes()
    _write_files(folder)
    (folder / "params.yaml").write_bytes(parameters)
    return [f"{folder.resolve()} has the files of Asterism {__version__}: look at `git diff`"]


def check_code(folder: Path) -> None:
    """Reject a project whose stages would run other code than its results are said to be of.

    A checkout of the source has no :data:`CODE`: its stages depend on the source itself.

    Raises:
        UserError: another version of the package made the project's files.
    """
    path = folder / CODE
    if not path.exists():
        return
    with reading(str(path)):
        told = dict(read_json(path))
    if told != _code():
        raise UserError(
            f"{CODE} says Asterism {told.get('version')}, but another one ({__version__}) is "
            "installed: run `asterism new --update`, look at `git diff`, and commit"
        )


def _write_files(folder: Path) -> None:
    """All files of a project, in the place of those that are there."""
    source = _files()
    for name in FILES:
        origin, target = source / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            shutil.copytree(
                origin, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        elif name == "dvc.yaml":
            text = _SOURCE.sub(rf"\1{CODE.as_posix()}\n", origin.read_text(encoding="utf-8"))
            target.write_text(text, encoding="utf-8")
        else:
            shutil.copy(origin, target)
    with replacing(folder / CODE) as temporary:
        temporary.write_text(json.dumps(_code(), indent=1) + "\n", encoding="utf-8")
    installed = sorted({f"{d.name}=={d.version}" for d in metadata.distributions()}, key=str.lower)
    (folder / LIBRARIES).write_text("\n".join(installed) + "\n", encoding="utf-8")


def _files() -> Path:
    """The folder with :data:`FILES`: within the installed package, or the checkout."""
    packed = _PACKAGE / "project_files"
    return packed if packed.is_dir() else _PACKAGE.parents[1]


def _code() -> dict[str, str]:
    """Which code is installed."""
    digests = (
        f"{path.relative_to(_PACKAGE)} {hash_path(path)}"
        for path in sorted(_PACKAGE.rglob("*.py"))
        if _PACKAGE / "project_files" not in path.parents
    )
    whole = hashlib.sha256("\n".join(digests).encode()).hexdigest()
    return {"version": __version__, "sha256": whole}


def _repository_of(folder: Path) -> Path | None:
    try:
        return Path(run_git(_existing(folder), "rev-parse", "--show-toplevel"))
    except UserError as error:  # of none, or of one without a working tree
        if "safe.directory" in str(error):
            raise UserError(
                f"git does not trust the repository of {folder.resolve()}, whose files are "
                f"another user's: run {str(error).partition(':')[2]}"
            ) from None
        return None


def _is_ignored(folder: Path) -> bool:
    try:
        return bool(run_git(_existing(folder), "check-ignore", str(folder.resolve())))
    except UserError:
        return False


def _existing(folder: Path) -> Path:
    """A folder, or what there is of the way to it."""
    whole = folder.resolve()
    return next(place for place in (whole, *whole.parents) if place.is_dir())


def _commit(folder: Path, message: str) -> None:
    run_git(folder, "add", "--", *FILES, CODE.as_posix(), str(LIBRARIES))
    run_git(folder, "commit", "--quiet", "--message", message)
