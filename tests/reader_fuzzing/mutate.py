"""Damage to whole files, by the structure of their format, and to folders of them.

``mutated`` applies a few mutations to an example; each has a name and a seed of its own, so that
an example can be made again with fewer of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from reader_fuzzing.examples import Content, Example, Odd
from reader_fuzzing.mutators import mutators_of

#: Mutations of one example, at most.
MOST = 4


@dataclass(frozen=True)
class Step:
    """One mutation: of which file, and the seed of what it does."""

    file: str
    seed: int


def plan(example: Example, random: Random) -> list[Step]:
    """Some mutations for an example: mostly one, mostly of its main file."""
    count = 1 + min(int(random.expovariate(1.2)), MOST - 1)
    names = sorted(n for n, content in example.files.items() if isinstance(content, bytes))
    weights = [3 if name == example.main else 1 for name in names]
    return [Step(random.choices(names, weights)[0], random.getrandbits(48)) for _ in range(count)]


def carried_out(example: Example, steps: Sequence[Step], others: Sequence[Example]) -> Example:
    """The example after some mutations.

    Args:
        example: a whole one.
        steps: what to do; those whose file is gone do nothing.
        others: whole examples of the same reader, to take pieces from.
    """
    told = []
    for step in steps:
        content = example.files.get(step.file)
        if not isinstance(content, bytes):
            continue
        random = Random(step.seed)
        if random.random() < 0.03:
            name, changed = _of_the_folder(step.file, example, others, random)
        else:
            name, changed = _of_the_content(step.file, content, others, random)
        told.append(f"{step.file}: {name}")
        example = example.change(step.file, changed)
    return Example(example.main, example.files, "; ".join(told))


def _of_the_content(
    file: str, content: bytes, others: Sequence[Example], random: Random
) -> tuple[str, bytes]:
    name, mutator = random.choice(mutators_of(file, content))
    pool = [c for e in others for c in e.files.values() if isinstance(c, bytes)] or [content]
    try:
        return name, mutator(content, random, pool)
    except Exception as error:  # it was damaged beyond this mutator's understanding
        random.seed(random.random())
        at = random.randrange(len(content) + 1)
        return f"{name} ({type(error).__name__}), cut", content[:at]


def _of_the_folder(
    file: str, example: Example, others: Sequence[Example], random: Random
) -> tuple[str, Content | None]:
    """Another thing in the file's place."""
    names = sorted(n for n, content in example.files.items() if isinstance(content, bytes))
    other = example.files[random.choice(names)]
    choices: dict[str, Callable[[], Content | None]] = {
        "taken away": lambda: None,
        "a folder": lambda: Odd("folder"),
        "empty": lambda: b"",
        "another file's content": lambda: other,
        "another example's": lambda: random.choice(others).files.get(file, b""),
        "a link to itself": lambda: Odd("link", file.rpartition("/")[2]),
        "a link to nothing": lambda: Odd("link", "absent"),
    }
    name = random.choice(sorted(choices))
    return name, choices[name]()
