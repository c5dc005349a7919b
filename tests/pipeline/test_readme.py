"""README.md shows the pipeline as it is."""

import re
import sys

from imports import ASTERISM, ROOT

sys.path.append(str(ROOT / "docs"))

from update_dag import graph, with_graph


def test_the_graph_is_current():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == with_graph(text, graph()), "run `make dag`"


def test_the_map_of_the_source_names_every_package():
    page = (ROOT / "docs/pipeline.md").read_text(encoding="utf-8")
    shown = page.partition("src/asterism/ ")[2].partition("\n\n")[0]
    for path in ASTERISM.iterdir():
        if path.is_dir() and (path / "__init__.py").is_file():
            assert re.search(rf"\b{path.name}/", shown), path.name
        elif path.suffix == ".py" and path.stem != "__init__":
            assert path.name in shown, path.name


def test_the_index_of_decisions_lists_every_page():
    index = (ROOT / "docs/decisions/README.md").read_text(encoding="utf-8")
    pages = sorted(ROOT.glob("docs/decisions/[a-z]*.md"))
    assert [page.name for page in pages] == sorted(re.findall(r"\]\(([a-z-]+\.md)\)", index))
