"""DVC's settings of one workspace, which git does not track."""

from __future__ import annotations

from pathlib import Path

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.errors import errors_of_dvc


def use_cache(workspace: Path, cache: Path, links: str) -> None:
    """Let a workspace use a cache, and keep what DVC writes for itself in the workspace.

    Args:
        workspace: its root.
        cache: the folder of the cache.
        links: how files are taken from it, where the settings do not say so.
    """
    from dvc.config import Config

    own = workspace / ".dvc"
    with Config(str(own)).edit("local") as settings:
        settings.setdefault("cache", {}).setdefault("type", links)
        settings["cache"]["dir"] = str(cache)
        settings.setdefault("core", {})["site_cache_dir"] = str(own / "tmp" / "site")


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
