"""What fits into each lane, and what does not: a short table in README.md and a page of the manual.

Formats, kinds of inputs, comparisons and libraries come from the program's registries; the rest is
said here.
"""

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from asterism.asking.lanes import FORMATS_OF, IMPORTANCE, RECURRENT
from asterism.core.parameters.validation import registered_names
from asterism.models.keras_models.reading import KERAS_SUFFIXES
from asterism.models.signatures.reading import MODEL_SUFFIXES

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BEGIN, END = "<!-- fits: `make reference` writes this table -->\n", "<!-- end of fits -->\n"

#: Registries whose plug-ins are named.
INPUT_KINDS = "asterism.data.kinds:INPUT_KINDS"
COMPARISONS = "asterism.dflare.comparisons:COMPARISONS"
LIBRARIES = "asterism.differential.adapters.library:LIBRARIES"

#: Keras 2's architecture, whose weights lie beside it.
ARCHITECTURE = ".json"


@dataclass(frozen=True)
class Lane:
    """What a lane takes, in Markdown.

    Attributes:
        name: also of its page in ``docs``.
        formats: suffixes of model files.
        inputs: kinds of inputs.
        unfit: what does not fit.
        details: further facts, by what they are about.
    """

    name: str
    formats: str
    inputs: str
    unfit: str
    details: dict[str, str]


def lanes() -> list[Lane]:
    """Every lane."""
    keras = suffixes([*of_formats(FORMATS_OF[IMPORTANCE]), ARCHITECTURE])
    return [
        Lane(
            "vetting",
            suffixes(MODEL_SUFFIXES),
            listed(registered_names(INPUT_KINDS)),
            "pickled models, GGUF",
            {
                "layouts": "named inputs of any rank and type; channels first or last; a fixed "
                "batch size too",
                "outputs": f"compared by one of {listed(registered_names(COMPARISONS))}",
                "state": "carried between calls, by name or inside the file",
                "tokens": "with masks, segments and lengths derived from them",
                "note": "a LiteRT file is repaired as its ONNX version",
            },
        ),
        Lane(
            "compressed",
            suffixes(MODEL_SUFFIXES),
            "images",
            "images of varying sizes; a single score in place of one for each class",
            {
                "layouts": "`(N, H, W, C)` and `(N, C, H, W)` with 1 or 3 channels",
                "outputs": "probabilities or logits of at least two classes",
            },
        ),
        Lane(
            "importance",
            keras,
            "images",
            "LiteRT files; of ONNX files, `judge_tests` in Python measures all but IDC",
            {
                "layouts": "`(N, H, W, C)`",
                "outputs": "classes, or an angle ([driving](docs/importance.md#driving-data))",
                "also": "in Python, "
                "[`judge_tests`](docs/importance.md#models-of-keras-and-pytorch) takes models of "
                "PyTorch, and tables, sequences and tokens for both frameworks; and ONNX files, "
                "which it judges by the criteria that need activations alone",
            },
        ),
        Lane(
            "stateful",
            suffixes(of_formats(FORMATS_OF[RECURRENT])),
            "images row by row, sequences, sound in frames, token ids",
            "networks without a recurrent layer",
            {
                "layouts": "`(N, T, F)`, `(N, T)`",
                "outputs": "probabilities or logits of at least two classes",
                "state": "hidden states of one recurrent layer",
                "tokens": "padded with 0",
            },
        ),
        Lane(
            "libraries",
            f"{keras}; as they are also `.onnx` and `.pt2`",
            "generated; for files as they are, your own batch too",
            "`Lambda` and custom layers",
            {
                "files as they are": "`.onnx` and `.pt2` by [`compare-libraries`]"
                "(docs/libraries.md#your-own-files-as-they-are) and [`compare-versions`]"
                "(docs/versions.md)",
                "layouts": "any that the layers take",
                "outputs": "compared element by element",
                "libraries and references": listed(registered_names(LIBRARIES)),
            },
        ),
    ]


def of_formats(names: Iterable[str]) -> list[str]:
    """Suffixes of files of these formats."""
    known = {"keras": KERAS_SUFFIXES, "onnx": (".onnx",), "torch": (".pt2",)}
    return [suffix for name in names for suffix in known[name]]


def suffixes(known: Iterable[str]) -> str:
    """File name suffixes, each once."""
    return ", ".join(f"`{suffix}`" for suffix in dict.fromkeys(known))


def listed(names: Iterable[str]) -> str:
    """Names with commas."""
    return ", ".join(name.replace("_", " ") for name in names)


def table() -> str:
    """The short table."""
    rows = [
        ("lane", "model files", "inputs", "does not fit"),
        ("---",) * 4,
        *((link(lane), lane.formats, lane.inputs, lane.unfit) for lane in lanes()),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def link(lane: Lane) -> str:
    """A lane's name, which leads to its page."""
    return f"[{lane.name}](docs/{lane.name}.md)"


def with_table(text: str) -> str:
    """README's text with the short table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def page() -> str:
    """The manual's page: the short table, and what else is to know of each lane."""
    parts = [
        f"""\
# What fits, and what does not

A *lane* is a part of the pipeline that answers one question by one method. This page lists what
each lane takes; `asterism check model.onnx` tells what can be done with a file of yours.

{table()}
- **Model files** are named by their suffixes. Nothing is unpickled, so no `.pt` or `.joblib` file
  is read.
- **State** is what a streaming model carries from one call to the next. A lane without a line about
  state takes no such model.
- [Kinds of inputs and comparisons](docs/inputs.md) have a page of their own.
"""
    ]
    for lane in lanes():
        facts = "".join(fact(about, told) for about, told in lane.details.items())
        parts.append(f"## {lane.name.capitalize()}\n\n{facts}")
    return "\n".join(parts).replace("](docs/", "](../")


def fact(about: str, told: str) -> str:
    """An item of a list, in lines that are not too long."""
    text = f"- **{about.capitalize()}:** {told}."
    return textwrap.fill(text, 119, subsequent_indent="  ", break_on_hyphens=False) + "\n"
