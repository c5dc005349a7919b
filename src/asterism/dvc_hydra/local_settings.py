"""DVC's settings of one workspace, which git does not track."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

from asterism.core.files.artifacts import replacing
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.errors import errors_of_dvc


def use_cache(workspace: Path, cache: Path, links: str) -> None:
    """Let a workspace use a cache, and keep what DVC writes for itself in the workspace.

    DVC itself writes no path with letters beyond ASCII into its settings, and reads it.

    Args:
        workspace: its root.
        cache: the folder of the cache.
        links: how files are taken from it, where the settings do not say so.
    """
    own = workspace / ".dvc"
    file = own / "config.local"
    settings = ConfigParser(interpolation=None, delimiters=("=",), strict=False)
    if file.exists():
        settings.read_string(file.read_text(encoding="utf-8"))
    for section in {"cache", "core"} - set(settings.sections()):
        settings.add_section(section)
    if "type" not in settings["cache"]:
        settings["cache"]["type"] = f'"{links}"'
    settings["cache"]["dir"] = _quoted(cache)
    settings["core"]["site_cache_dir"] = _quoted(own / "tmp" / "site")
    with replacing(file) as temporary, temporary.open("w", encoding="utf-8") as written:
        settings.write(written)


def _quoted(path: Path) -> str:
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
