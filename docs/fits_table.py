"""What fits into each lane, and what does not: a table for README.md and the manual.

Formats, kinds of inputs and comparisons come from the program's registries; the rest is said here.
"""

from pathlib import Path

from asterism.core.parameters.registry import Registry
from asterism.core.parameters.validation import names_in
from asterism.models.keras_models.reading import KERAS_SUFFIXES
from asterism.models.runtimes.runtime import FORMATS
from asterism.models.signatures.reading import MODEL_SUFFIXES

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BEGIN, END = "<!-- fits: `make reference` writes this table -->\n", "<!-- end of fits -->\n"

HEADER = ("lane", "formats", "inputs", "layouts", "outputs", "state", "tokens", "does not fit")

#: Registries whose plug-ins are named.
INPUT_KINDS = "asterism.data.given.kind:INPUT_KINDS"
COMPARISONS = "asterism.dflare.comparisons:COMPARISONS"
DOMAINS = "asterism.dflare.domains:DOMAINS"
LIBRARIES = "asterism.libraries.adapters.library:LIBRARIES"

#: What a recurrent network's file may be, beside Keras'.
RECURRENT = (*KERAS_SUFFIXES, ".onnx")

#: Keras 2's architecture, whose weights lie beside it.
ARCHITECTURE = ".json"


def rows() -> list[tuple[str, ...]]:
    """A row for each lane."""
    keras = suffixes([*KERAS_SUFFIXES, ARCHITECTURE])
    return [
        (
            "[vetting](docs/vetting.md)",
            suffixes(MODEL_SUFFIXES),
            listed(names_in(INPUT_KINDS)),
            "named inputs of any rank and type; channels first or last; a fixed batch too",
            f"compared by {listed(names_in(COMPARISONS))}",
            "carried states, by name or inside the file",
            "with masks, segments and lengths made of them",
            "pickled models, GGUF; a LiteRT file is repaired as its ONNX version",
        ),
        (
            "[compressed](docs/compressed.md)",
            suffixes(of_registry(FORMATS)),
            f"images; by parameters {listed(n for n in names_in(DOMAINS) if n != 'images')}",
            "`(N, H, W, C)` and `(N, C, H, W)`, 1 or 3 channels",
            "probabilities or logits of at least two classes",
            "no",
            "by `trigger.domain`",
            "images of free sizes; files with one output",
        ),
        (
            "[importance](docs/importance.md)",
            keras,
            "images",
            "`(N, H, W, C)`",
            "classes; an angle ([driving](docs/importance.md#driving-data))",
            "no",
            "no",
            "ONNX and LiteRT: relevance needs layers",
        ),
        (
            "[stateful](docs/stateful.md)",
            suffixes(RECURRENT),
            "images row by row, sequences, sound in frames, token ids",
            "`(N, T, F)`, `(N, T)`",
            "probabilities or logits of at least two classes",
            "hidden states of one recurrent layer",
            "padded with 0",
            "networks without a recurrent layer",
        ),
        (
            "[libraries](docs/libraries.md)",
            f"{keras}; given `.onnx` and `.pt2` files by "
            "[`compare-libraries`](docs/libraries.md#your-own-files-as-they-are), `.onnx` by "
            "[`compare-versions`](docs/versions.md)",
            "made by the stages; for given files your own batch too",
            "any that the layers take",
            f"of {listed(names_in(LIBRARIES))}, compared element by element",
            "no",
            "no",
            "`Lambda` and layers of your own",
        ),
    ]


def of_registry(registry: Registry) -> list[str]:
    """Suffixes of all plug-ins that read files."""
    return [suffix for name in registry for suffix in registry[name].suffixes]


def suffixes(known: object) -> str:
    """File name suffixes, each once."""
    return ", ".join(f"`{suffix}`" for suffix in dict.fromkeys(known))


def listed(names: object) -> str:
    """Names with commas."""
    return ", ".join(name.replace("_", " ") for name in names)


def table(folder: str) -> str:
    """The table in Markdown.

    Args:
        folder: what leads from the page to the project's root, such as ``../../``.
    """
    lines = [HEADER, ["---"] * len(HEADER), *rows()]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return text.replace("](docs/", f"]({folder}docs/") if folder else text


def with_table(text: str) -> str:
    """README's text with the table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table("") + END + after


def page() -> str:
    """The manual's page."""
    body = table("../../").replace("../../docs/", "../")
    return f"""\
# What fits, and what does not

What each lane takes. A *lane* is a part of the pipeline that answers one question by one method.
`asterism check model.onnx` opens a file of yours, and says it of that.

{body}
- **Formats** are file name suffixes. Nothing is unpickled: no `.pt` or `.joblib` file is read.
- **State** is what a streaming model carries from one call to the next.
- [Kinds of inputs and comparisons](../inputs.md) have a page of their own.
"""
