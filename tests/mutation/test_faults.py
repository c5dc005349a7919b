"""Faults: each compiles, changes one place, and is named by that and not by its line."""

import ast
import json

import pytest

from mutation.__main__ import EQUIVALENTS, NEAREST, ROOT, key_of, packages_of, sample
from mutation.faults import faults_of
from thinning import every

EXAMPLE = '''
"""Module: a + b."""
from typing import overload

LIMIT = 3 + 4


class Thing:
    """Doc."""

    def __repr__(self) -> str:
        return "a" if self.size > 3 else "b"

    def small(self, size: int, text: str = "x" + "y") -> bool:
        """Whether 1 < 2."""
        if not size < 3 and self.ready:
            raise ValueError(f"{size + 1} is wrong")
        log.info("small", size=size + 1)
        self.seen.append(size)
        for _ in progress(range(size), label="a" + "b"):
            self.total += 1
        return self.rows[:size].sum(axis=0) is None


@overload
def nothing(a: int = 1 + 1) -> int:
    return a + 1
'''


def changes(source):
    return [fault.change for fault in faults_of(source, "m.py")]


def test_the_faults_of_a_function_are_those_of_its_behaviour():
    assert changes(EXAMPLE) == [
        "not size < 3 and self.ready → not size < 3 or self.ready",
        "not size < 3 → size < 3",
        "size < 3 → size <= 3",
        "3 → 4 in size < 3",
        "no self.seen.append(size)",
        "no self.total += 1",
        "1 → 2 in self.total += 1",
        "return self.rows[:size].sum(axis=0) is None → return size",
        "self.rows[:size].sum(axis=0) is None → self.rows[:size].sum(axis=0) is not None",
        "self.rows[:size].sum(axis=0) → self.rows[:size].max(axis=0)",
        "self.rows[:size].sum(axis=0) → self.rows[:size].sum()",
        ":size → :size - 1",
        "0 → 1 in axis=0",
    ]
    assert {fault.function for fault in faults_of(EXAMPLE, "m.py")} == {"Thing.small"}


@pytest.mark.parametrize(
    ("expression", "changed"),
    [
        ("a <= b", "a < b"),
        ("a == b", "a != b"),
        ("a in b", "a not in b"),
        ("a - b", "a + b"),
        ("a // b", "a / b"),
        ("a or b", "a and b"),
        ("a if b else c", "c if b else a"),
        ("f(a, b)", "f(b, a)"),
        ("min(a, b)", "max(a, b)"),
        ("np.any(a)", "np.all(a)"),
        ("f(a, flag=b)", "f(a)"),
        ("a[0.5]", "a[1.0]"),
        ("a[True]", "a[False]"),
    ],
)
def test_a_fault_is_the_one_that_its_kind_says(expression, changed):
    source = f"def f(x, y):\n    z = {expression}\n    return x\n"
    (fault,) = faults_of(source, "m.py")
    faulty = ast.unparse(ast.parse(fault.put_into(source)))
    assert faulty == ast.unparse(ast.parse(f"def f(x, y):\n    z = {changed}\n    return x\n"))


@pytest.mark.parametrize("package", every(30, packages_of(ROOT)))
def test_faults_of_the_source_compile_and_differ(package):
    """A part of them: all of a package would take long."""
    for fault in sample(package, 60, 1, {}):
        source = (ROOT / "src" / fault.file).read_text()
        faulty = ast.parse(fault.put_into(source))
        compile(faulty, fault.file, "exec")
        assert ast.dump(faulty) != ast.dump(ast.parse(source))


def test_every_package_has_tests_that_may_notice_its_faults():
    assert NEAREST.keys() <= set(packages_of(ROOT))
    for package in packages_of(ROOT):
        for folder in NEAREST.get(package, (package,)):
            assert any((ROOT / "tests" / folder).rglob("test_*.py")), package


def test_every_fault_that_is_named_equivalent_is_there_with_a_reason():
    named = json.loads(EQUIVALENTS.read_text())
    files = {entry["file"]: (ROOT / "src" / entry["file"]).read_text() for entry in named}
    there = {fault.key for name, text in files.items() for fault in faults_of(text, name)}
    assert [key_of(e) for e in named if key_of(e) not in there] == []
    assert all(len(entry["reason"].split()) > 3 for entry in named)
    assert len({key_of(e) for e in named}) == len(named)
