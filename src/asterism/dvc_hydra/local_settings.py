"""DVC's settings of a workspace: those that git does not track, and the remote that all share."""

from __future__ import annotations

from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from asterism.core.files.artifacts import replacing
from asterism.core.files.limits import read_within_limit
from asterism.core.messages.errors import UserError, reading

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
    settings = _read(file)
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
    found = dvc_settings(workspace)
    name = _plain(found.get("core", "remote", fallback=""))
    if not name:
        return None
    for section in found.sections():
        if section.replace('"', "").strip("'") == f"remote {name}" and "url" in found[section]:
            return name, _plain(found[section]["url"])
    raise UserError(f".dvc/config: the remote {name} has no url")


def dvc_settings(workspace: Path) -> ConfigParser:
    """DVC's settings of a workspace, from the files that it reads: machine, user, project, here.

    Raises:
        UserError: one of them cannot be read.
    """
    here = workspace / ".dvc"
    return _read(
        Path(platformdirs.site_config_dir("dvc", "iterative"), "config"),
        Path(platformdirs.user_config_dir("dvc", "iterative"), "config"),
        here / "config",
        here / "config.local",
    )


def _read(*levels: Path) -> ConfigParser:
    """The settings in files, as far as these are there; what the last one says counts."""
    found = ConfigParser(interpolation=None, delimiters=("=",), strict=False)
    for file in levels:
        if file.is_file():
            with reading(str(file)):
                found.read_string(read_within_limit(file, "limits.text_mb").decode())
    return found


def cache_folder(workspace: Path) -> Path:
    """The folder of a workspace's cache."""
    folder = dvc_settings(workspace).get("cache", "dir", fallback="cache")
    return workspace / ".dvc" / Path(_plain(folder)).expanduser()


def link_kinds(workspace: Path) -> list[str]:
    """How files are taken from a workspace's cache, the best first: DVC's ``cache.type``."""
    kinds = _plain(dvc_settings(workspace).get("cache", "type", fallback="reflink,copy"))
    return [kind.strip() for kind in kinds.split(",")]


def _plain(value: str) -> str:
    return value.strip("'\"")
