"""DVC's settings of a workspace: those that git does not track, and the remote that all share."""

from __future__ import annotations

from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path

from asterism.core.files.artifacts import replacing
from asterism.core.files.limits import read_within
from asterism.core.messages.errors import UserError, reading
from asterism.dvc_hydra.errors import errors_of_dvc

#: The settings that git tracks.
SHARED = ".dvc/config"

#: The remote that all share, and its section.
_REMOTE = "store"
_SECTION = f"'remote \"{_REMOTE}\"'"


def use_cache(workspace: Path, cache: Path, links: str) -> None:
    """Let a workspace use a cache, and keep what DVC writes for itself in the workspace.

    Args:
        workspace: its root.
        cache: the folder of the cache.
        links: how files are taken from it, where the settings do not say so.
    """
    own = workspace / ".dvc"
    with _edited(own / "config.local") as settings:
        if "type" not in settings["cache"]:
            settings["cache"]["type"] = f'"{links}"'
        settings["cache"]["dir"] = _quoted(cache)
        settings["core"]["site_cache_dir"] = _quoted(own / "tmp" / "site")


def set_remote(workspace: Path, url: str) -> None:
    """Make an address the remote that all share, of which what is fetched is hashed on arrival.

    Raises:
        UserError: DVC does not take the address.
    """
    with _edited(workspace / SHARED) as settings:
        former = settings["core"].get("remote", "").strip("'\"")
        if former and former != _REMOTE:
            raise UserError(f"{SHARED} has the remote {former}: change it by `dvc remote modify`")
        settings["core"]["remote"] = _REMOTE
        settings[_SECTION] = {"url": _quoted(url), "verify": "true"}
    default_remote(workspace)


@contextmanager
def _edited(file: Path) -> Iterator[ConfigParser]:
    """A file of settings, written once the block ends.

    DVC itself writes no path with letters beyond ASCII, though it reads it.
    """
    settings = ConfigParser(interpolation=None, delimiters=("=",), strict=False)
    if file.exists():
        with reading(str(file)):
            settings.read_string(read_within(file, "limits.text_mb").decode())
    for section in {"cache", "core", _SECTION} - set(settings.sections()):
        settings.add_section(section)
    yield settings
    for section in settings.sections():
        if not settings[section]:
            settings.remove_section(section)
    with replacing(file) as temporary, temporary.open("w", encoding="utf-8") as written:
        settings.write(written)


def _quoted(path: Path | str) -> str:
    """A path as DVC reads it: without quotes a comma would make a list of it."""
    return f"'{path}'" if '"' in str(path) else f'"{path}"'


def default_remote(workspace: Path) -> tuple[str, str] | None:
    """Name and address of the remote that all share; None where there is none.

    Raises:
        UserError: DVC cannot read the settings, or the remote has no address.
    """
    from dvc.config import Config

    with errors_of_dvc(".dvc/config"):
        settings = Config(str(workspace / ".dvc"))
    name = settings["core"].get("remote")
    if name is None:
        return None
    address = settings["remote"].get(name, {}).get("url")
    if address is None:
        raise UserError(f".dvc/config: the remote {name} has no url")
    return str(name), str(address)
