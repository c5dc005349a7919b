"""A kind of model file in one module: NumPy's functions, one step after another.

It holds the kind, the reference that says what such a file computes, and two libraries that read
it, of which one is wrong about a function.
"""

import json
from dataclasses import dataclass, replace
from typing import ClassVar

from asterism.differential.adapters.code import Code, Prepared
from asterism.differential.adapters.library import LIBRARIES, FileLibrary, FileReference
from asterism.differential.adapters.reference import FileReferences
from asterism.differential.subjects.model_files import SUBJECTS, FileNode, InputSpec, ModelFile

RUN = """values = dict(zip(steps["inputs"], inputs))
for function, read, made in steps["nodes"]:
    values[made] = getattr(np, function)(values[read])
outputs = [values[name] for name in steps["outputs"]]"""
CODE = Code(("import json",), "steps = json.load(open(path))", RUN)


@dataclass(frozen=True)
class Steps(ModelFile):
    """Steps of a file, each with a function, what it reads and what it makes."""

    suffix: ClassVar[str] = ".steps"

    name: str
    inputs: tuple[InputSpec, ...]
    steps: tuple[tuple[str, str, str], ...]
    outputs: tuple[str, ...]

    @property
    def content(self):
        names = [spec.name for spec in self.inputs]
        return json.dumps({"inputs": names, "nodes": self.steps, "outputs": self.outputs}).encode()

    @property
    def nodes(self):
        return [FileNode(function, (read,), (made,)) for function, read, made in self.steps]

    @property
    def declared(self):
        return ["float32"] * len(self.outputs)

    @property
    def coarsest(self):
        return "float32"

    def kinds(self):
        return {}

    def fixed(self, inputs):
        return self

    def exposing(self):
        names = [made for _, _, made in self.steps]
        return replace(self, outputs=tuple(names)), names

    def part(self, chosen, value):
        steps = [self.steps[number] for number in chosen]
        made = [name for _, _, name in steps]
        outside = list(dict.fromkeys(read for _, read, _ in steps if read not in made))
        arrays = [array for name in outside if (array := value(name)) is not None]
        if len(arrays) < len(outside):
            return None
        specs = (InputSpec(n, a.shape, "float32") for n, a in zip(outside, arrays, strict=True))
        return replace(self, inputs=tuple(specs), steps=tuple(steps), outputs=tuple(made)), arrays


@SUBJECTS.register(".steps")
def read_steps(path, size, shapes):
    """A file whose only input has two items of ``size`` numbers."""
    steps = json.loads(path.read_text())
    specs = tuple(InputSpec(name, (2, size), "float32") for name in steps["inputs"])
    return Steps(path.stem, specs, tuple(map(tuple, steps["nodes"])), tuple(steps["outputs"]))


@LIBRARIES.register("steps_reference")
class StepsReference(FileReference):
    """NumPy in float64."""

    name, packages, suffix = "steps_reference", ("numpy",), ".steps"
    references = FileReferences("steps_reference")

    @classmethod
    def trivial(cls):
        steps = {"inputs": ["x"], "nodes": [("positive", "x", "y")], "outputs": ["y"]}
        return json.dumps(steps).encode()

    def open(self, path, option):
        return Prepared(CODE, {"path": str(path)})

    def evaluate(self, opened, inputs):
        return opened.run(inputs)


@LIBRARIES.register("steps_numpy")
class StepsNumPy(FileLibrary):
    """NumPy as it is."""

    name, packages, suffix = "steps_numpy", ("numpy",), ".steps"

    def code(self, option):
        return CODE


@LIBRARIES.register("steps_faulty")
class StepsFaulty(StepsNumPy):
    """NumPy with another square root."""

    name = "steps_faulty"

    def code(self, option):
        lines = 'np.sqrt(values[read]) + 0.01 if function == "sqrt" else '
        call = RUN.replace("= getattr", f"= {lines}getattr")
        return replace(CODE, call=call)


def write_steps(path, *functions):
    """A file of these functions, one after the other."""
    nodes = [(function, f"v{at}", f"v{at + 1}") for at, function in enumerate(functions)]
    steps = {"inputs": ["v0"], "nodes": nodes, "outputs": [f"v{len(functions)}"]}
    path.write_text(json.dumps(steps))
