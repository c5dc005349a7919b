"""Put the pipeline's graph, as `dvc dag` draws it, into README.md: `make dag`."""

import subprocess
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "```mermaid\n", "```\n"


def graph() -> str:
    """The graph's mermaid source; stages with variants are one node."""
    command = ["dvc", "dag", "--mermaid", "--collapse-foreach-matrix"]
    result = subprocess.run(command, cwd=README.parent, check=True, capture_output=True, text=True)
    return result.stdout.strip() + "\n"


def with_graph(text: str, source: str) -> str:
    """README's text with the graph between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + source + END + after


if __name__ == "__main__":
    README.write_text(with_graph(README.read_text(encoding="utf-8"), graph()), encoding="utf-8")
