"""Variants: how a result is computed by something other than the library's plain call."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated

from pydantic import StringConstraints

from asterism.core.files.records import record_from
from asterism.core.settings.yaml_files import parse_yaml

#: Lines of Python, without the end of the last one.
Lines = Annotated[str, StringConstraints(strip_whitespace=True)]


@dataclass(frozen=True)
class ExecutionVariant:
    """A variant to run a call that must give what the plain call gives.

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
    lines: Lines
    expected: Lines = "expected = f(*inputs)"
    imports: Lines = ""
    packages: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    finest: str = "float64"
    checks: bool = False


@dataclass(frozen=True)
class Framework:
    """Whose functions are called, in Python text.

    Args:
        imports: lines at the top.
        tensor: makes a tensor of an array, which stands for ``{0}``.
        bfloat16: makes one of that dtype.
        moved: lines that move each input by one rounding of float32, which ``SHIFT`` stands for.
        arrays: a line that makes ``arrays``, which lists the results with a dtype and a shape.
        numbers: one that makes ``numbers``, which gives those of a result.
        in_float64: lines that make layers compute in float64.
        afresh: lines that forget what was compiled.
    """

    imports: Lines
    tensor: Lines
    bfloat16: Lines
    moved: Lines
    arrays: Lines
    numbers: Lines
    in_float64: Lines = ""
    afresh: Lines = ""


def _read() -> tuple[dict[str, Framework], dict[str, ExecutionVariant]]:
    """The frameworks and the variants of all: a file in ``frameworks`` for each framework."""
    frameworks: dict[str, Framework] = {}
    variants: dict[str, ExecutionVariant] = {}
    folder = files("asterism.findings.calls").joinpath("frameworks")
    for file in (file for file in folder.iterdir() if file.name.endswith(".yaml")):
        document, name = parse_yaml(file.read_text(encoding="utf-8"), file.name), file.name[:-5]
        frameworks[name] = record_from(Framework, document["framework"])
        for variant, facts in document["variants"].items():
            variants[variant] = record_from(ExecutionVariant, {"framework": name, **facts})
    return dict(sorted(frameworks.items())), dict(sorted(variants.items()))


#: All frameworks by name, and all variants by ``library:variant``.
FRAMEWORKS, VARIANTS = _read()


def variants_of(framework: str) -> list[str]:
    """Names of the variants of a framework's calls."""
    return [name for name, variant in VARIANTS.items() if variant.framework == framework]
