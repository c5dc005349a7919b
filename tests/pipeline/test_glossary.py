"""The glossary's terms are those of the code, and names that were given up are gone."""

import re
import subprocess
from functools import cache

import pytest
from imports import ROOT

ROW = re.compile(r"\| ([^|]+) \| `([^`|]+)` \| ([^|]+) \|([^|]*)\|")

#: Words that stood for several things, or that no reader of the field knows; and what is said now.
GIVEN_UP = {
    "route": "backend",
    "witness": "agreeing backend",
    "nursery": "fork server",
    "recollection": "prediction cache",
    "foresight": "speculative batch",
    "refusal": "rejection",
    "refused": "rejected",
    "tally": "histogram",
    "SharedParts": "SharedWorkUnits",
}
SUFFIXES = (".py", ".md", ".yaml", ".toml", ".j2", ".json")


def rows():
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    found = [m.groups() for m in map(ROW.fullmatch, text.splitlines()) if m]
    return [(term.strip(), code, meaning.strip()) for term, code, meaning, _ in found]


@cache
def tracked():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    files = [ROOT / name for name in listed if name.endswith(SUFFIXES)]
    return {path: path.read_text(encoding="utf-8") for path in files if path.is_file()}


@cache
def source():
    parts = ("src", "stages", "conf")
    return "\n".join(
        text
        for path, text in tracked().items()
        if path.relative_to(ROOT).parts[0] in parts or path.name == "dvc.yaml"
    )


def test_each_term_stands_once_and_is_explained():
    terms = [term.lower() for term, _, _ in rows()]
    assert len(terms) > 50
    assert len(set(terms)) == len(terms)
    assert all(len(meaning) > 10 for _, _, meaning in rows())


@pytest.mark.parametrize(("term", "code"), [row[:2] for row in rows()])
def test_terms_exist_in_the_code(term, code):
    assert re.search(rf"(?<![A-Za-z]){re.escape(code)}(?![A-Za-z])", source()), term


@pytest.mark.parametrize("word", sorted(GIVEN_UP))
def test_names_that_were_given_up_are_gone(word):
    named = re.compile(rf"(?<![A-Za-z]){word}s?(?![a-z])", re.IGNORECASE)
    here = {path for path in tracked() if path.name in ("test_glossary.py", "dvc.lock")}
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path, text in tracked().items()
        if path not in here
        for line in text.splitlines()
        if named.search(line)
    ]
    assert not found, f"say {GIVEN_UP[word]!r}"
