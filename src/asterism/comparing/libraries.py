"""Libraries that run files, as users name them, in the versions that are asked for."""

from __future__ import annotations

from collections.abc import Container

from asterism.comparing.environment_making import Say, make_environment
from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import suggest_closest
from asterism.differential.adapters.backend_names import plugin_of, reads_given_files, suffix_of
from asterism.differential.adapters.environments import package_of, read_environment, versions_of
from asterism.differential.adapters.library import LIBRARIES, FileLibrary, FileReference


def readers_of(formats: Container[str]) -> list[str]:
    """The libraries under test that run files of these formats, by the files' suffixes."""
    kinds = {name: LIBRARIES[name] for name in LIBRARIES}
    tested = {name: kind for name, kind in kinds.items() if not issubclass(kind, FileReference)}
    return [n for n, k in tested.items() if issubclass(k, FileLibrary) and k.suffix in formats]


def ensure_readers(library: str, version: str, say: Say, formats: Container[str]) -> dict[str, str]:
    """The readers of a library's files, in a version; environments are made where they are missing.

    A package may read each format by a library of its own: OpenVINO has one of ONNX files and one
    of exported programs.

    Args:
        library: by name.
        version: its version, or another library: ``openvino``, ``openvino@2024.6``.
        say: told what making an environment costs.
        formats: suffixes of the files that it is to run.

    Returns:
        The reader of each format that it reads, by the suffix.

    Raises:
        UserError: the library reads no such files, or its environment is not to be had.
    """
    if "@" in version or version in LIBRARIES:
        library, _, version = version.partition("@")
    known = readers_of(formats)
    kin = [n for n in known if LIBRARIES[n].packages[0] == package_of(library)]
    kin.sort(key=lambda name: (name != library, len(LIBRARIES[name].packages)))
    found: dict[str, str] = {}
    for reader in kin or [library]:  # the named one, or the one that needs nothing else
        if (suffix := suffix_of(reader)) not in found:
            found[suffix] = ensure_environment(named_version(reader, version, formats), say)
    return found


def ensure_environment(reader: str, say: Say) -> str:
    """A reader by its name, whose environment is made where it is missing.

    Raises:
        UserError: the environment is not to be had.
    """
    if "@" in reader:
        make_environment(read_environment(reader), say)
    return reader


def named_version(library: str, version: str, formats: Container[str]) -> str:
    """The name of a reader in a version: the installed one has none of its own.

    Raises:
        UserError: the library reads no such files, or there is no such environment.
    """
    known = readers_of(formats)
    if library not in known:
        hint = suggest_closest(library, known)
        raise UserError(f"no files are run by {library!r}{hint} (known: {', '.join(known)})")
    here = installed_version(library).partition("+")[0]  # of a build for one kind of machine
    if not version or f"{here}.".startswith(f"{version}."):
        return library
    read_environment(f"{library}@{version}")
    return f"{library}@{version}"


def file_options_of(library: str) -> list[str]:
    """Every option of a library by which it runs files."""
    return [o for o in plugin_of(library).all_options() if reads_given_files(f"{library}:{o}")]


def installed_version(library: str) -> str:
    """A library's own version, in its environment or here; nothing where it is not installed."""
    return versions_of(library).get(plugin_of(library).packages[0], "")


def package_versions(library: str) -> dict[str, str]:
    """The packages of a library's environment; of the installed one those that it names."""
    return read_environment(library).versions if "@" in library else versions_of(library)


def title_of(library: str) -> str:
    """A library with its full version."""
    return f"{plugin_of(library).name} {installed_version(library)}"
