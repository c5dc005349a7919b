"""Versions of everything under test: part of what results depend on, so a stage writes them."""

from __future__ import annotations

from contextlib import suppress
from importlib import metadata

from asterism.differential.adapters.library import CONVERTERS, LIBRARIES


def installed_versions(*names: str) -> dict[str, str]:
    """Version of each distribution that libraries and converters name; nothing is imported.

    Args:
        names: of the libraries and converters; none for all of them.
    """
    wanted = names or (*LIBRARIES, *CONVERTERS)
    plugins = [LIBRARIES[name] if name in LIBRARIES else CONVERTERS[name] for name in wanted]
    packages = {package for plugin in plugins for package in plugin.packages}
    return {package: version_of(package) or "not installed" for package in sorted(packages)}


def package_of(library: str) -> str:
    """The package that is a library or converter; the others that it needs stand behind it."""
    plugins = LIBRARIES if library in LIBRARIES else CONVERTERS
    return plugins[library].packages[0] if library in plugins else library


def version_of(package: str) -> str:
    """The version of a package that is installed here; nothing where it is not."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(package)
    return ""
