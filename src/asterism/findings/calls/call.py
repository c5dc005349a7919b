"""A call of one function, and the variants by which its result is computed otherwise.

A call has a text, inputs and values of options. A variant is something other than the library's
plain call.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Annotated, Any

from pydantic import StringConstraints

from asterism.core.files.records import record_from
from asterism.core.random_streams import stream
from asterism.core.settings.yaml_files import parse_yaml

#: Names of a call's inputs, in their order.
NAMES = "xyzvw"
#: Most calls that one family makes of one set of inputs.
_MOST = 48


@dataclass(frozen=True)
class Input:
    """An array that a call gets.

    Args:
        shape: of it.
        dtype: of it, as NumPy calls it, or ``bfloat16``.
        values: ``normal``; ``positive``; ``unit`` for numbers between 0 and 1; or ``below N`` for
            whole numbers from 0 to N - 1.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    values: str = "normal"


@dataclass(frozen=True)
class Call:
    """One call.

    Args:
        framework: whose function it is: ``pytorch``, ``tensorflow`` or ``jax``.
        family: name of the function.
        expression: Python text of inputs that are called as in :data:`NAMES`.
        inputs: what it gets.
        options: values of what was varied.
        setup: lines before it, which may make a layer.
    """

    framework: str
    family: str
    expression: str
    inputs: tuple[Input, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    setup: str = ""

    @property
    def name(self) -> str:
        """The expression with dtypes and shapes of its inputs."""
        given = ", ".join(f"{i.dtype}{list(i.shape)}" for i in self.inputs)
        more = f" with {dict(self.options)}" if self.setup else ""
        return f"{self.expression} of {given}{more}"

    @property
    def is_empty(self) -> bool:
        """Whether an input has no elements."""
        return any(0 in given.shape for given in self.inputs)

    @property
    def narrow(self) -> tuple[str, ...]:
        """Dtypes named in its text that round more than float32: what it computes is that coarse.

        A compiler may keep a wider dtype between two steps, as their documentation says.
        """
        text = f"{self.setup} {self.expression}".replace(".half()", "float16")
        found = set(re.findall(r"float8_\w+|bfloat16|(?<!b)float16", text))
        return tuple(sorted(found))

    @property
    def facts(self) -> dict[str, str]:
        """All that may decide whether it goes wrong, as text."""
        facts = {name: repr(value) for name, value in self.options.items()}
        for name, given in zip(NAMES, self.inputs, strict=False):
            facts[f"dtype of {name}"] = given.dtype
            facts[f"shape of {name}"] = str(list(given.shape))
        return facts


@dataclass(frozen=True)
class Family:
    """A function with what is tried of it.

    Args:
        name: of the function.
        expression: text with an ``{option}`` for each option.
        inputs: sets of inputs, the usual one first.
        options: values of each option, the usual one first.
        dtypes: in place of the first input's, and of others like it, at the usual options.
        setup: lines before it, with options too.
    """

    name: str
    expression: str
    inputs: tuple[tuple[Input, ...], ...]
    options: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()
    setup: str = ""

    def calls(self, framework: str) -> Iterator[Call]:
        """The usual call, then each change alone, then changes together, a sample of them."""
        for at, given in enumerate(self.inputs):
            for chosen in self._chosen():
                if at and self._changed(chosen) > 1:
                    continue
                yield self._call(framework, given, chosen)
        usual = {name: values[0] for name, values in self.options.items()}
        for dtype in self.dtypes:
            for given in self.inputs[:2]:
                like = given[0].dtype
                other = tuple(
                    Input(i.shape, dtype, i.values) if i.dtype == like else i for i in given
                )
                yield self._call(framework, other, usual)

    def _chosen(self) -> list[dict[str, Any]]:
        names, values = list(self.options), list(self.options.values())
        every = [dict(zip(names, v, strict=True)) for v in itertools.product(*values)]
        few = [chosen for chosen in every if self._changed(chosen) < 2]
        many = [chosen for chosen in every if self._changed(chosen) > 1]
        order = stream(0, "calls", self.name, self.expression).permutation(len(many))
        return few + [many[int(i)] for i in order[: max(0, _MOST - len(few))]]

    def _changed(self, chosen: dict[str, Any]) -> int:
        """How many options have another value than the usual one."""
        return sum(v != self.options[n][0] for n, v in chosen.items())

    def _call(self, framework: str, given: tuple[Input, ...], chosen: dict[str, Any]) -> Call:
        words = {name: v if isinstance(v, CodeText) else repr(v) for name, v in chosen.items()}
        text, setup = (t.format(**words) for t in (self.expression, self.setup))
        return Call(framework, self.name, text, given, chosen, setup)


class CodeText(str):
    """An option's value that is Python text, not a string."""

    __slots__ = ()


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
