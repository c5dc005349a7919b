"""Put the pipeline's graph into README.md: `make dag`.

It is the graph that `dvc dag` draws, stages with variants as one node, in the lanes that headings
in dvc.yaml name, and without arrows that follow from others.
"""

import re
import subprocess
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BEGIN, END = "```mermaid\n", "```\n"


def graph() -> str:
    """The graph's mermaid source."""
    needs = nx.transitive_reduction(dependencies())
    lines = ["flowchart LR"]
    for lane, stages in lanes().items():
        lines += [f'  subgraph "{lane}"', *(f"    {stage}" for stage in stages), "  end"]
    lines += sorted(f"  {earlier} --> {later}" for earlier, later in needs.edges)
    return "\n".join(lines) + "\n"


def dependencies() -> nx.DiGraph:
    """Which stage reads what which other writes."""
    command = ["dvc", "dag", "--mermaid", "--collapse-foreach-matrix"]
    result = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    names = dict(re.findall(r'(node\d+)\["(\w+)"\]', result.stdout))
    arrows = re.findall(r"(node\d+)-->(node\d+)", result.stdout)
    found = nx.DiGraph((names[earlier], names[later]) for earlier, later in arrows)
    found.add_nodes_from(names.values())
    return found


def lanes() -> dict[str, list[str]]:
    """Stages below each heading of dvc.yaml."""
    stages = (ROOT / "dvc.yaml").read_text(encoding="utf-8").partition("\nplots:")[0]
    _, *parts = re.split(r"^  # -+ (.+?) -+$", stages, flags=re.MULTILINE)
    return {
        lane: re.findall(r"^  (\w+):$", text, flags=re.MULTILINE)
        for lane, text in zip(parts[::2], parts[1::2], strict=True)
    }


def with_graph(text: str, source: str) -> str:
    """README's text with the graph between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + source + END + after


if __name__ == "__main__":
    README.write_text(with_graph(README.read_text(encoding="utf-8"), graph()), encoding="utf-8")
