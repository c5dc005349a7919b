"""DVC's settings of one workspace, which git does not track."""

from __future__ import annotations

from pathlib import Path


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
