"""A way: how a function's result is computed by something other than the library's plain call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from asterism.core.settings.yaml_files import parse_yaml


@dataclass(frozen=True)
class Way:
    """A way to run a call that must give what the plain call gives.

    Args:
        framework: whose calls it takes.
        library: to blame where it goes wrong.
        lines: Python text that computes ``actual`` of ``f`` and ``inputs``.
        expected: text that computes what must come.
        imports: lines beside the framework's own.
        packages: distributions whose versions matter beside the framework's own.
        unsupported: patterns of messages by which it says that it does not do something.
        finest: the finest dtype that it computes in, as its documentation says.
        checks: whether it must fail where the plain call fails.
    """

    framework: str
    library: str
    lines: str
    expected: str = "expected = f(*inputs)"
    imports: str = ""
    packages: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    finest: str = "float64"
    checks: bool = False


def _read_ways() -> dict[str, Way]:
    """The ways of all frameworks: a file in ``ways`` for each, with the fields of :class:`Way`."""
    found = {}
    folder = files("asterism.findings.calls").joinpath("ways")
    for file in (file for file in folder.iterdir() if file.name.endswith(".yaml")):
        for name, facts in parse_yaml(file.read_text(encoding="utf-8"), file.name).items():
            texts = {k: v.rstrip("\n") for k, v in facts.items() if isinstance(v, str)}
            lists = {k: tuple(v) for k, v in facts.items() if isinstance(v, list)}
            framework = file.name.removesuffix(".yaml")
            found[name] = Way(**{"framework": framework, **facts, **texts, **lists})
    return dict(sorted(found.items()))


#: All ways, by ``library:way``; of two that show a finding the first one by ``order`` has it.
WAYS: Mapping[str, Way] = _read_ways()
