"""A public class has a name of its own, so that a name met anywhere means one thing."""

import ast
from collections import Counter
from pathlib import Path

import asterism

#: Every stage has a section of this name.
SHARED = {"Params"}


def test_no_two_public_classes_have_one_name():
    names = Counter(
        node.name
        for path in Path(asterism.__file__).parent.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    twice = {name for name, count in names.items() if count > 1}
    assert twice <= SHARED
