"""Write the reference pages that the program itself knows: `make reference`.

Parameters come from the schema and their defaults from params.yaml, plug-ins from the registries,
stages from dvc.yaml, and commands from the command line's own declaration.
"""

import dataclasses
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
import typer
import yaml
from fits_table import README, with_table
from fits_table import page as fits_page
from pydantic import AfterValidator
from pydantic.fields import FieldInfo
from reference_introductions import INTRODUCTIONS
from update_dag import lanes

from asterism.cli.commands import app
from asterism.config import Params
from asterism.core.parameters.params import PaperSource, ParameterSection
from asterism.core.parameters.registry import Registry
from asterism.core.parameters.validation import registered_names

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs/reference"

#: Where plug-ins whose options are parameters are registered, and which parameter chooses them.
PLUGINS = {
    "asterism.images:MUTATORS": "fuzz.mutators, trigger.operators",
    "asterism.sound:SOUND_MUTATORS": "trigger.operators",
    "asterism.text:TEXT_MUTATORS": "trigger.operators",
    "asterism.tensors:TENSOR_MUTATORS": "trigger.operators",
    "asterism.deepstellar.selections:SELECTIONS": "fuzz.selection",
    "asterism.deepstellar.criteria:TRACE_CRITERIA": "",
    "asterism.compression.methods:COMPRESSORS": "compression",
    "asterism.dflare.domains:DOMAINS": "vet.domain",
    "asterism.dflare.comparisons:COMPARISONS": "vet.comparison",
    "asterism.dflare.searches:SEARCHES": "trigger.searches, vet.search.searches",
    "asterism.dflare.fitness:FITNESSES": "the option fitness of a search",
    "asterism.dflare.repairers:REPAIRERS": "repair.repairers",
    "asterism.attacks.methods:ATTACKS": "attack.names, attack.options",
    "asterism.criteria.families:ACTIVATION_CRITERIA": "criteria.names, criteria.options",
    "asterism.memo.generating.strategies:STRATEGIES": "generate.strategies",
    "asterism.differential.adapters.library:LIBRARIES": "execute.backends",
    "asterism.differential.adapters.library:CONVERTERS": "",
}

#: Longer defaults are left to params.yaml.
LONGEST_DEFAULT = 60

_LIMITS = {
    annotated_types.Ge: ("ge", "≥ {}"),
    annotated_types.Gt: ("gt", "> {}"),
    annotated_types.Le: ("le", "≤ {}"),
    annotated_types.Lt: ("lt", "< {}"),
    annotated_types.MinLen: ("min_length", "length ≥ {}"),
    annotated_types.MaxLen: ("max_length", "length ≤ {}"),
}
_TYPES = {str: "text", bool: "true or false", NoneType: "null", Any: "any", object: "any"}

#: What stands in the place of values that a table has none of.
ABSENT = "–"


def write() -> None:
    """Write every page."""
    PAGES.mkdir(exist_ok=True)
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
    for name, text in pages().items():
        (PAGES / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Each page's text by its file's name."""
    return {
        "parameters.md": parameters_page(),
        "plug-ins.md": plugins_page(),
        "stages.md": stages_page(),
        "commands.md": commands_page(),
        "formats.md": fits_page(),
    }


def rows_of(
    section: type[ParameterSection], values: list[Any], prefix: str = ""
) -> Iterator[tuple[str, FieldInfo, list[Any]]]:
    """Path, declaration and default values of each parameter below a section."""
    for name, field in section.model_fields.items():
        inner = [value[name] for value in values if isinstance(value, dict) and name in value]
        path = f"{prefix}{name}"
        members = sections_in(field.annotation)
        if not members:
            yield path, field, inner
        elif get_origin(field.annotation) is dict:
            below = [entry for value in inner for entry in value.values()]
            yield from rows_of(members[0], below, f"{path}.NAME.")
        elif get_origin(field.annotation) is list:
            yield from rows_of(members[0], [e for value in inner for e in value], f"{path}.N.")
        else:
            for member in members:
                tag = member.model_fields.get("source") if len(members) > 1 else None
                choice = get_args(tag.annotation)[0] if tag else None
                mine = [value for value in inner if choice in (None, (value or {}).get("source"))]
                shown = f"{path} ({choice})" if choice else path
                yield from rows_of(member, mine, f"{shown}.")


def sections_in(annotation: Any) -> list[type[ParameterSection]]:
    """The sections that a type is made of."""
    if inspect.isclass(annotation) and issubclass(annotation, ParameterSection):
        return [annotation]
    return [section for part in get_args(annotation) for section in sections_in(part)]


def type_text(annotation: Any) -> str:
    """A type in words."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_text(parts[0])
    if origin is Literal:
        return " or ".join(f"`{part}`" for part in parts)
    if origin in (Union, UnionType):
        return " or ".join(type_text(part) for part in parts)
    if origin in (list, tuple):
        return f"list of {type_text(parts[0])}" if parts else "list"
    if origin is dict:
        return f"by name: {type_text(parts[1])}"
    return _TYPES.get(annotation, getattr(annotation, "__name__", str(annotation)))


def range_text(annotation: Any, metadata: list[Any]) -> str:
    """The limits of a value, and of what a list has, in words."""
    found = []
    for note in metadata:
        if type(note) in _LIMITS:
            name, text = _LIMITS[type(note)]
            found.append(text.format(getattr(note, name)))
        elif isinstance(note, AfterValidator) and isinstance(note.func, partial):
            function = note.func.func.__name__
            if function == "_require_name":
                found.append(" ".join(f"`{name}`" for name in registered_names(note.func.args[0])))
    if get_origin(annotation) is Annotated:
        inner, *notes = get_args(annotation)
        found.append(range_text(inner, notes))
    else:
        found += [range_text(part, []) for part in get_args(annotation) if not is_plain(part)]
    return ", ".join(dict.fromkeys(filter(None, found)))


def source_text(metadata: list[Any]) -> str:
    """The place in a paper that a parameter comes from."""
    return "; ".join(note.text for note in metadata if isinstance(note, PaperSource))


def is_plain(part: Any) -> bool:
    """Whether a type's argument is a value of a ``Literal``, which has no limits."""
    return isinstance(part, (str, int, float, bool))


def value_text(value: Any) -> str:
    """A value as YAML writes it in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...").strip()


def default_text(values: list[Any]) -> str:
    """The default; several where several entries of params.yaml have one."""
    texts = list(dict.fromkeys(value_text(value) for value in values))
    if not texts:
        return ABSENT
    text = ", ".join(f"`{text}`" for text in texts)
    return text if len(text) <= LONGEST_DEFAULT else "see params.yaml"


def cell(text: str) -> str:
    """A text inside of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cell(text) for text in line)} |\n" for line in lines)


def parameters_page() -> str:
    """Every parameter: type, default, range, meaning, and the paper that has it."""
    defaults = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    parts = [INTRODUCTIONS["parameters"]]
    header = ["parameter", "type", "default", "range or names", "meaning", "source"]
    for name, field in Params.model_fields.items():
        members = sections_in(field.annotation)
        known = [defaults[name]] if name in defaults else []
        body = {"__annotations__": {name: field.annotation}, name: field}
        whole = type("Whole", (ParameterSection,), body)
        told = list(dict.fromkeys(sentence(member) for member in members))
        about = " Or: ".join(told) or f"{field.description}."
        rows = [
            [
                f"`{path}`",
                type_text(one.annotation),
                default_text(values),
                range_text(one.annotation, one.metadata),
                one.description or ABSENT,
                source_text(one.metadata),
            ]
            for path, one, values in rows_of(whole, [{name: value} for value in known])
        ]
        width = len(header) if any(row[-1] for row in rows) else len(header) - 1
        shown = table(header[:width], [row[:width] for row in rows])
        parts.append(f"## {name}\n\n{about}\n\n{chosen_by(name)}{shown}")
    return "\n".join(parts)


def chosen_by(name: str) -> str:
    """Which choices `conf/` has for a section."""
    choices = sorted(file.stem for file in (ROOT / "conf" / name).glob("*.yaml"))
    if not choices:
        return ""
    told = f"Choices of `conf/{name}`: {', '.join(f'`{name}={choice}`' for choice in choices)}"
    return f"{textwrap.fill(told, 119, break_on_hyphens=False)}\n\n"


def sentence(thing: Any) -> str:
    """A docstring's first sentence, without the marks of cross-references."""
    first = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", first).replace("``", "`").replace("\n", " ")


def plugins_page() -> str:
    """Every plug-in whose options are parameters."""
    parts = [INTRODUCTIONS["plug-ins"]]
    for place, setting in PLUGINS.items():
        module, _, variable = place.partition(":")
        registry = getattr(importlib.import_module(module), variable)
        settings = [f"`{one}`" if "." in one else one for one in setting.split(", ") if one]
        told = f"Set by {', '.join(settings)}.\n\n" if settings else ""
        table = plugin_table(registry, registered_names(place))
        parts.append(f"## {registry.kind.capitalize()}\n\n{told}{table}")
    return "\n".join(parts)


def plugin_table(registry: Registry[Any], names: Sequence[str]) -> str:
    """The program's own plug-ins of a registry; an option is a row below its plug-in."""
    rows = []
    for name in names:
        plugin = registry[name]
        rows.append([f"**`{name}`**", "", "", sentence(plugin)])
        rows += [[f"`{name}.{option}`", *facts] for option, *facts in options_of(plugin)]
    return table(["name", "type", "range", "meaning"], rows)


def options_of(plugin: Any) -> Iterator[list[str]]:
    """Name, type, range and meaning of each option."""
    if section := getattr(plugin, "Options", None):
        for path, field, _ in rows_of(section, []):
            limits = range_text(field.annotation, field.metadata)
            yield [path, type_text(field.annotation), limits, field.description or ABSENT]
    elif dataclasses.is_dataclass(plugin):
        meanings = attributes(plugin)
        for field in dataclasses.fields(plugin):
            written = field.type if isinstance(field.type, str) else type_text(field.type)
            default = field.default if field.default is not dataclasses.MISSING else None
            told = meanings.get(field.name, ABSENT)
            shown = "" if default is None else f" (default: `{default}`)"
            yield [field.name, f"`{written}`", "", told + shown]


def attributes(plugin: type) -> dict[str, str]:
    """What docstrings say about a class's attributes."""
    found: dict[str, str] = {}
    for owner in reversed(plugin.__mro__):
        text = inspect.cleandoc(owner.__doc__ or "").partition("Attributes:\n")[2]
        for name, meaning in re.findall(r"^    (\w+): (.+(?:\n {5,}.+)*)", text, re.MULTILINE):
            found[name] = " ".join(meaning.split())
    return found


def stages_page() -> str:
    """Every stage: what it reads and writes, and what its results are read by."""
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    facts = {name: {**stage, **stage.get("do", {})} for name, stage in stages.items()}
    written = {name: outputs(stage) for name, stage in facts.items()}
    parts = [INTRODUCTIONS["stages"]]
    for lane, names in lanes().items():
        parts.append(f"## {lane}\n")
        for name in names:
            stage = facts[name]
            needs = [d for d in stage.get("deps", []) if not d.startswith(("src/", "stages/"))]
            readers = [
                other
                for other in facts
                if other != name
                and any(
                    below(d, out) for d in facts[other].get("deps", []) for out in written[name]
                )
            ]
            several = stage.get("matrix") or stage.get("foreach")
            rows = [
                ["command", f"`{stage['cmd']}`"],
                ["one for each of", code_list(each(several)) if several else ""],
                ["inputs", code_list(needs)],
                ["parameters", code_list(stage.get("params", []))],
                ["outputs", code_list(written[name])],
                ["read by", ", ".join(f"[{r}](#{r})" for r in readers)],
            ]
            kept = [row for row in rows if row[1]]
            parts.append(f"### {name}\n\n{stage['desc']}.\n\n{table(['what', 'which'], kept)}")
    return "\n".join(parts)


def each(several: Any) -> list[str]:
    """What a stage with variants is made for."""
    return [str(value) for value in (several.values() if isinstance(several, dict) else [several])]


def outputs(stage: dict[str, Any]) -> list[str]:
    """Everything that a stage writes."""
    kinds = [*stage.get("outs", []), *stage.get("metrics", []), *stage.get("plots", [])]
    return [out if isinstance(out, str) else next(iter(out)) for out in kinds]


def below(path: str, folder: str) -> bool:
    """Whether a dependency takes an output, or the reverse holds it; names of items aside."""
    first, second = (re.sub(r"\$\{item[^}]*\}|\$\{key\}", "*", p) for p in (path, folder))
    return f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/")


def code_list(names: list[Any]) -> str:
    """Names as code, with commas."""
    return ", ".join(f"`{name}`" for name in names)


def commands_page() -> str:
    """Every command of ``asterism``, with its arguments and options."""
    program = typer.main.get_command(app)
    parts = [INTRODUCTIONS["commands"], groups_table(program)]
    for name, command in sorted(program.commands.items()):  # type: ignore[attr-defined]
        rows = [[option_text(one), one.help or ""] for one in command.params]
        options = ["[OPTIONS]"] if any(map(is_option, command.params)) else []
        words = [usage(one) for one in command.params if not is_option(one)]
        used = " ".join(["asterism", name, *options, *words])
        listed = table(["argument or option", "meaning"], rows) if rows else ""
        told = inspect.cleandoc(command.help)
        parts.append(f"## {name}\n\n{told}\n\n```text\n{used}\n```\n\n{listed}")
    return "\n".join(parts)


def groups_table(program: Any) -> str:
    """The commands by their groups, in the order of the help."""
    groups: dict[str, list[str]] = {}
    for name in program.list_commands(None):
        group = program.commands[name].rich_help_panel
        groups.setdefault(group, []).append(f"[`{name}`](#{name})")
    return table(["to do", "commands"], [[g, ", ".join(names)] for g, names in groups.items()])


def usage(parameter: Any) -> str:
    """How an argument stands in a command."""
    word = parameter.name.upper()
    many = "..." if parameter.nargs == -1 else ""
    return f"{word}{many}" if parameter.required else f"[{word}]{many}"


def is_option(parameter: Any) -> bool:
    """Whether it is written with dashes."""
    return str(parameter.opts[0]).startswith("-")


def option_text(parameter: Any) -> str:
    """An argument's or option's spellings."""
    if not is_option(parameter):
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{word}`" for word in [*parameter.opts, *parameter.secondary_opts])


if __name__ == "__main__":
    write()
