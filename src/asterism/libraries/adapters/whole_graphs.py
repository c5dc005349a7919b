"""A PyTorch model as one graph: what its exporter traces, compiled without a break in between.

``torch.compile`` of a Keras model makes many small graphs, for Keras' own code interrupts them. A
reproducer holds the source of these functions, which therefore import what they need themselves.
"""

from typing import Any


def program_of(model: Any, inputs: Any, free: bool = False) -> Any:
    """The program that ``torch.export`` traces of a Keras model's inference on some tensors.

    Args:
        model: the Keras model.
        inputs: the tensors.
        free: whether the size of batches is free, except of none and one, which PyTorch fixes.
    """
    import torch

    class Inference(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: Any) -> Any:
            return self.model(inputs[0] if len(inputs) == 1 else list(inputs), training=False)

    sizes = {0: torch.export.Dim.DYNAMIC} if free and len(inputs[0]) > 1 else None
    with torch.no_grad():
        return torch.export.export(
            Inference(), tuple(inputs), dynamic_shapes=(tuple(sizes for _ in inputs),)
        )


def by_shape(compiled: Any, free: bool = False) -> Any:
    """A function that is compiled for each shape of inputs when it comes first.

    Args:
        compiled: gives the function of inputs that are like these.
        free: whether that function takes batches of any size above one.
    """
    made = {}

    def call(inputs: Any, training: Any = False) -> Any:
        given = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
        batch = len(given[0])
        shapes = tuple(i.shape[1:] if free and batch > 1 else i.shape for i in given)
        if shapes not in made:
            made[shapes] = compiled(given)
        return made[shapes](*given)

    return call


def compiled_graph(model: Any) -> Any:
    """The model's graph through ``torch.compile``."""
    import torch

    torch._dynamo.reset()
    return by_shape(lambda g: torch.compile(program_of(model, g).module(check_guards=False)))


def compiled_dynamic_graph(model: Any) -> Any:
    """The model's graph of batches of any size through ``torch.compile`` for dynamic shapes."""
    import torch

    torch._dynamo.reset()

    def compiled(given: Any) -> Any:
        program = program_of(model, given, free=True)
        return torch.compile(program.module(check_guards=False), dynamic=True)

    return by_shape(compiled, free=True)


def packaged_graph(model: Any) -> Any:
    """The model's graph as PyTorch loads it from the package that AOTInductor makes."""
    import tempfile

    import torch

    def loaded(given: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            program = program_of(model, given)
            path = f"{folder}/model.pt2"
            torch._inductor.aoti_compile_and_package(program, package_path=path)
            return torch._inductor.aoti_load_package(path)

    return by_shape(loaded)


#: The functions by the option that goes through them.
WHOLE = {
    "compile_graph": compiled_graph,
    "compile_dynamic_graph": compiled_dynamic_graph,
    "aot_inductor": packaged_graph,
}
#: Those of them that PyTorch can differentiate.
DIFFERENTIABLE = ("compile_graph", "compile_dynamic_graph")
