"""PyTorch through Keras' backend: eager, compiled, exported, packaged; float64 as a reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.differential.adapters import questions
from asterism.differential.adapters.code import (
    BATCHES,
    RELOADED,
    SAME_LAYERS,
    SHAPES,
    Arrays,
    BackendCode,
    Prepared,
    fill_words,
)
from asterism.differential.adapters.library import LIBRARIES, Library
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.reference.runs import PERTURBATIONS, STAND_INS, change_for_run

#: How often Dynamo may compile the same code for one model: more than any model has layers.
_RECOMPILED = 1024

_IMPORT = ("import torch",)
_TENSORS = "inputs = [torch.from_numpy(x) for x in inputs]"
_FOLDER = ("import tempfile", *_IMPORT)


def _called(function: str) -> str:
    return f"""{_TENSORS}
with torch.no_grad():
    outputs = keras.tree.flatten({function})"""


def _exported(made: str, imports: tuple[str, ...] = _IMPORT, *, free: bool = False) -> BackendCode:
    """By lines that make ``function`` of the program that ``torch.export`` traces.

    Keras' own code interrupts Dynamo, so that ``torch.compile`` of a model makes many small graphs;
    the program is one.

    Args:
        made: the lines.
        imports: theirs.
        free: whether the program takes batches of any size but none and one, which PyTorch fixes.
    """
    lines = ["examples = [torch.from_numpy(x) for x in inputs]"]
    given, sizes = "examples if len(examples) > 1 else examples[0]", ""
    if free:
        lines.append("free = {0: torch.export.Dim.DYNAMIC} if len(examples[0]) > 1 else None")
        lines.append("sizes = [free] * len(examples) if len(examples) > 1 else free")
        sizes = ", dynamic_shapes=(sizes,)"
    module = "torch.nn.Sequential(model.eval())"
    lines.append(f"program = torch.export.export({module}, ({given},){sizes})")
    prepare = "\n".join([*lines, made])
    return BackendCode(imports, prepare, _called("function(GIVEN)"), BATCHES if free else SHAPES)


_CODES = {
    "eager": BackendCode(_IMPORT, "", _called("model(GIVEN, training=False)")),
    "compile": BackendCode(
        _IMPORT, "function = torch.compile(model)", _called("function(GIVEN, training=False)")
    ),
    "compile_dynamic": BackendCode(
        _IMPORT,
        "function = torch.compile(model, dynamic=True)",
        _called("function(GIVEN, training=False)"),
    ),
    "compile_graph": _exported("function = torch.compile(program.module(check_guards=False))"),
    "compile_dynamic_graph": _exported(
        "function = torch.compile(program.module(check_guards=False), dynamic=True)", free=True
    ),
    "aot_inductor": _exported(
        "folder = tempfile.TemporaryDirectory()\n"
        'path = f"{folder.name}/model.pt2"\n'
        "torch._inductor.aoti_compile_and_package(program, package_path=path)\n"
        "function = torch._inductor.aoti_load_package(path)",
        _FOLDER,
    ),
    "export": _exported(
        "folder = tempfile.TemporaryDirectory()\n"
        'torch.export.save(program, f"{folder.name}/model.pt2")\n'
        'function = torch.export.load(f"{folder.name}/model.pt2").module()',
        _FOLDER,
        free=True,
    ),
    "keras_file": BackendCode(
        (*RELOADED["keras_file"][0], *_IMPORT),
        RELOADED["keras_file"][1],
        _called("model(GIVEN, training=False)"),
    ),
}
#: The float64 runs, which are eager.
_FLOAT64 = ("float64", *PERTURBATIONS, *STAND_INS)
_CODES |= dict.fromkeys(_FLOAT64, _CODES["eager"])
#: The model's graph through ``torch.compile``.
COMPILED_GRAPHS = ("compile_graph", "compile_dynamic_graph")
_EXPORTED = (*COMPILED_GRAPHS, "aot_inductor", "export")

_BEGIN = f"""{questions.COSINES}
{_TENSORS}
weighted = lambda ys: torch.stack(
    [(y.double() * torch.from_numpy(cosines(y))).sum() for y in keras.tree.flatten(ys)]).sum()"""

_FLOATING = "floating = [x.requires_grad_() for x in inputs if x.is_floating_point()]"

_ANSWERS = {
    questions.GRADIENT: f"""{_FLOATING}
total = weighted(FUNCTION)
outputs = torch.autograd.grad(total, floating, materialize_grads=True)""",
    questions.HESSIAN: f"""{_FLOATING}
total = weighted(FUNCTION)
found = torch.autograd.grad(total, floating, materialize_grads=True, create_graph=True)
along = weighted(found)
outputs = [torch.zeros_like(x) for x in floating]
if along.requires_grad:  # the model is not linear
    outputs = torch.autograd.grad(along, floating, materialize_grads=True)
outputs = [y.detach() for y in outputs]""",
    questions.WEIGHT_GRADIENT: f"""{questions.VARIABLES}
weights, found = [v.value for v in variables], []
if weights:
    found = torch.autograd.grad(weighted(FUNCTION), weights, materialize_grads=True)
{questions.BY_LAYERS}""",
    **dict.fromkeys(
        questions.TRAINING,
        f"""{questions.LOSS}
{questions.VARIABLES}
loss = loss_of(TRAINED_FUNCTION, model.losses)
weights = [v.value for v in variables]
if weights:
    gradients = torch.autograd.grad(loss, weights, materialize_grads=True)
    with torch.no_grad():
        OPTIMIZER.apply(gradients, variables)
{questions.TRAINED}""",
    ),
}

#: Where the outputs lie in memory, compiled and run eagerly: strides of axes that have more than
#: one place, and whether an input's memory is theirs. They are read after the inputs were written
#: over, but those that share the inputs' memory.
_OVERWRITTEN = """class WrongBuffersError(ArithmeticError):
    pass

def lies(call):
    given = [torch.tensor(x) for x in inputs]
    strides = lambda y: [s for s, n in zip(y.stride(), y.shape) if n > 1] if y.numel() else []
    with torch.no_grad():
        outputs = keras.tree.flatten(call(given if len(given) > 1 else given[0]))
        owned = [x.untyped_storage().data_ptr() for x in given if x.numel()]
        shared = [y.numel() > 0 and y.untyped_storage().data_ptr() in owned for y in outputs]
        kept = [y.clone() if s else y for y, s in zip(outputs, shared)]
        for x in given:
            x.fill_(1)
        call(given if len(given) > 1 else given[0])
    return [(strides(y), s) for y, s in zip(outputs, shared)], kept

expected, _ = lies(lambda x: model(x, training=False))
actual, outputs = lies(lambda x: FUNCTION)
if actual != expected:
    raise WrongBuffersError(
        f"strides of outputs, and whether they lie in an input: {actual}; eagerly {expected}")"""


@LIBRARIES.register("pytorch")
class PyTorch(Library):
    """Keras' PyTorch backend."""

    name = "pytorch"
    packages = ("torch", "keras")
    keras_backend = "torch"
    forks = True
    codes = _CODES
    differentiates = True
    unsupported = (
        r"expected scalar type",
        r"not implemented for '\w+'",
        r"Constraints violated",  # torch.export of what fixes the size of batches itself
    )

    def start(self) -> None:
        """See :class:`Library`.

        Layers share Keras' code, which Dynamo compiles anew for each of them. By default it runs
        eagerly from the ninth on.
        """
        import torch

        super().start()
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch._dynamo.config.recompile_limit = _RECOMPILED
        torch._dynamo.config.accumulated_recompile_limit = _RECOMPILED

    def dtype(self, option: str) -> str | None:
        """See :class:`Library`."""
        return "float64" if option in _FLOAT64 else None

    def question(self, option: str, question: str) -> str:
        """See :class:`Library`; by reverse-mode differentiation."""
        if option == "aot_inductor" or (
            option in _EXPORTED and question not in questions.BY_INPUTS
        ):
            raise NotImplementedError(f"{question} is not supported of an exported model")
        again = f"{SAME_LAYERS}\n" if option in RELOADED else ""
        return fill_words(
            f"{again}{_BEGIN}\n{_ANSWERS[question]}",
            TRAINED_FUNCTION=_function(option, "True"),
            FUNCTION=_function(option, "False"),
            OPTIMIZER=questions.OPTIMIZERS.get(question, ""),
        )

    def overwritten(self, option: str) -> str:
        """See :class:`Library`. The model run eagerly says what is shared."""
        return _OVERWRITTEN.replace("FUNCTION", _function(option, "False").replace("GIVEN", "x"))

    def prepared(self, model: Any, model_under_test: ModelUnderTest, option: str) -> Prepared:
        """See :class:`Library`; what Dynamo has compiled of other models is forgotten."""
        import torch

        if option in ("compile", "compile_dynamic", *COMPILED_GRAPHS):
            torch._dynamo.reset()
        return super().prepared(model, model_under_test, option)

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]], kind: str = "") -> Arrays:
        """See :class:`Library`; a reference off by rounding has other weights meanwhile.

        Other backends share the model.
        """
        option = compiled.option
        if option not in (*PERTURBATIONS, *STAND_INS):
            return super().run(compiled, inputs, kind)
        model = compiled.space(inputs)["model"]
        with questions.restoring_weights(model):
            model.set_weights([change_for_run(w, option) for w in model.get_weights()])
            return super().run(compiled, [change_for_run(i, option) for i in inputs], kind)


def _function(option: str, training: str) -> str:
    """The call of the model as the option prepares it."""
    if option in _EXPORTED:
        return "function(GIVEN)"
    return f"{'function' if option.startswith('compile') else 'model'}(GIVEN, training={training})"
