"""Versions of everything under test: part of what results depend on, so a stage writes them."""

from __future__ import annotations

from importlib import metadata

from asterism.differential.adapters.library import CONVERTERS, LIBRARIES


def installed_versions() -> dict[str, str]:
    """Version of each distribution that a library or converter names; nothing is imported."""
    plugins = [*(LIBRARIES[n] for n in LIBRARIES), *(CONVERTERS[n] for n in CONVERTERS)]
    packages = sorted({package for plugin in plugins for package in plugin.packages})
    return {package: _version(package) for package in packages}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
