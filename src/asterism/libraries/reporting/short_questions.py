"""Short scripts that ask for derivatives or for a step of training, by the library's own means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from asterism.libraries.adapters.backends import library_of, option_of
from asterism.libraries.adapters.question_scripts import optimizer_source
from asterism.libraries.adapters.questions import BY_LAYER, HESSIAN, TRAINING, WEIGHT_GRADIENT
from asterism.libraries.adapters.reloading import SUFFIXES
from asterism.libraries.reporting.short_code import Code
from asterism.libraries.running.inputs import BATCH, random_training
from asterism.memo.graphs.graph import Graph
from asterism.memo.universe.tensors import INTEGER

#: How Keras runs a step of training where the option says how it is compiled.
_STEPS = {
    "float64": "",
    **dict.fromkeys(("eager", *SUFFIXES), ", run_eagerly=True"),
    "graph": ", jit_compile=False",
    **dict.fromkeys(("jit", "xla", "compile"), ", jit_compile=True"),
}
#: By library and option, the model as a function of a batch.
_FUNCTIONS = {
    **{
        f"{library}:{option}": "model"
        for library in ("tensorflow", "pytorch")
        for option in ("eager", "float64", *SUFFIXES)
    },
    "tensorflow:graph": "tf.function(model)",
    "tensorflow:xla": "tf.function(model, jit_compile=True)",
    "pytorch:compile": "torch.compile(model)",
    "pytorch:compile_dynamic": "torch.compile(model, dynamic=True)",
}
_COSINES = "cosines = lambda y: np.cos(np.arange(np.prod(y.shape))).reshape(y.shape)"


def question_code(backend: str, question: str, graph: Graph) -> Code | None:
    """Imports and lines that set ``outputs``; None where there are no short ones.

    The lines read ``inputs``, ``model`` and ``layers``.

    Args:
        backend: that is asked.
        question: of :data:`~asterism.libraries.adapters.questions.QUESTIONS`.
        graph: the model.
    """
    dtypes = {graph.nodes[i].config.get("dtype", "float32") for i in graph.layers}
    integers = any(graph.tensors[i].dtype == INTEGER for i in graph.inputs)
    if len(dtypes) > 1 or random_training(graph, (question,)):
        return None
    if integers and question not in BY_LAYER:
        return None
    (dtype,) = dtypes
    library, option = library_of(backend), option_of(backend)
    code: Code | None
    if question in TRAINING:
        code = _step(option, question, graph, dtype)
    elif library == "jax":
        code = _of_jax(option, question, dtype)
    elif backend in _FUNCTIONS:
        made, name = [_COSINES], _FUNCTIONS[backend]
        if name != "model":
            made, name = [*made, f"function = {name}"], "function"
        code = (_of_tensorflow if library == "tensorflow" else _of_torch)(
            made, name, question, dtype
        )
    else:
        code = None
    if code is None:
        return None
    reload = _reloaded(option, by_layer=question in BY_LAYER)
    given = "inputs" if len(graph.inputs) > 1 else "inputs[0]"
    return replace(code, made=(*reload, *code.made)).put({"GIVEN": given})


def _reloaded(option: str, *, by_layer: bool) -> tuple[str, ...]:
    if option not in SUFFIXES:
        return ()
    name = f'"saved{SUFFIXES[option]}"'
    load = f"model.save({name}); model = keras.saving.load_model({name}, compile=False)"
    layers = ("layers = [model.get_layer(layer.name) for layer in layers]",) if by_layer else ()
    return (load, *layers)


def _flat(dtype: str) -> str:
    """The line that makes one array for each layer of the arrays ``found``."""
    join = f"np.concatenate([np.empty(0, {dtype!r}), *map(np.ravel, arrays)])"
    return f"outputs = [{join} for arrays in found]"


def _step(option: str, question: str, graph: Graph, dtype: str) -> Code | None:
    """Lines that compile the model and train it for a step, as users do."""
    how = _STEPS.get(option)
    if how is None:
        return None
    tensors = [graph.tensors[i] for i in graph.outputs]
    shapes = [(BATCH, *tensor.shape) for tensor in tensors]
    sizes = [f"np.cos(np.arange({prod(s)})).reshape({s})" for s in shapes]
    targets = sizes[0] if len(sizes) == 1 else f"[{', '.join(sizes)}]"
    whole = ('keras.config.set_floatx("float64")  # of the loss',) if option == "float64" else ()
    read = "w for w in layer.get_weights() if w.dtype.kind == 'f'"
    lines = (
        *whole,
        f'model.compile({optimizer_source(question)}, "mse"{how})',
        f"loss = model.train_on_batch(GIVEN, {targets})",
        f"found = [[{read}] for layer in layers]",
        _flat(dtype),
        f"outputs = [np.asarray(loss, {tensors[0].dtype!r}), *outputs]",
    )
    return Code((), lines)


def _of_tensorflow(made: Sequence[str], name: str, question: str, dtype: str) -> Code:
    sums = 'tf.reduce_sum(tf.cast(y, "float64") * cosines(y))'
    head = (
        *made,
        f"weighted = lambda ys: sum({sums} for y in keras.tree.flatten(ys))",
        "inputs = list(map(tf.constant, inputs))",
    )
    call = f"weighted({name}(GIVEN, training=False))"
    zero = 'unconnected_gradients="zero"'
    if question == WEIGHT_GRADIENT:
        lines: tuple[str, ...] = (
            "variables = [[v.value for v in layer.trainable_variables] for layer in layers]",
            "with tf.GradientTape() as tape:",
            f"    total = {call}",
            f"found = tape.gradient(total, variables, {zero})",
            _flat(dtype),
        )
    elif question == HESSIAN:
        lines = (
            "with tf.GradientTape() as outer:",
            "    outer.watch(inputs)",
            "    with tf.GradientTape() as tape:",
            "        tape.watch(inputs)",
            f"        total = {call}",
            f"    total = weighted(tape.gradient(total, inputs, {zero}))",
            f"outputs = outer.gradient(total, inputs, {zero})",
        )
    else:
        lines = (
            "with tf.GradientTape() as tape:",
            "    tape.watch(inputs)",
            f"    total = {call}",
            f"outputs = tape.gradient(total, inputs, {zero})",
        )
    return Code(("import tensorflow as tf",), (*head, *lines))


def _of_torch(made: Sequence[str], name: str, question: str, dtype: str) -> Code:
    sums = "(y.double() * torch.from_numpy(cosines(y))).sum()"
    head = (*made, f"weighted = lambda ys: sum({sums} for y in keras.tree.flatten(ys))")
    total = f"total = weighted({name}(GIVEN, training=False))"
    if question == WEIGHT_GRADIENT:
        lines: tuple[str, ...] = (
            "inputs = list(map(torch.from_numpy, inputs))",
            "variables = [[v.value for v in layer.trainable_variables] for layer in layers]",
            total,
            "wanted = keras.tree.flatten(variables)",
            "found = torch.autograd.grad(total, wanted, materialize_grads=True)",
            "found = keras.tree.pack_sequence_as(variables, found)",
            _flat(dtype),
        )
    else:
        lines = ("inputs = [torch.from_numpy(x).requires_grad_() for x in inputs]", total)
        asked = "torch.autograd.grad(total, inputs, materialize_grads=True"
        if question == HESSIAN:
            lines += (f"total = weighted({asked}, create_graph=True))",)
        lines += (f"outputs = {asked})",)
    return Code(("import torch",), (*head, *lines))


def _of_jax(option: str, question: str, dtype: str) -> Code | None:
    call = {"eager": "CALL", "jit": "jax.jit(CALL)", "float64": "jax.jit(CALL)"}.get(option)
    if call is None:
        return None
    sums = '(y.astype("float64") * cosines(y)).sum()'
    head = (_COSINES, f"weighted = lambda ys: sum({sums} for y in jax.tree.leaves(ys))")
    if question == WEIGHT_GRADIENT:
        plain = "lambda w, x: model.stateless_call(w, fixed, x, training=False)[0]"
        lines: tuple[str, ...] = (
            "start = [v.value for v in model.trainable_variables]",
            "fixed = [v.value for v in model.non_trainable_variables]",
            f"function = {call.replace('CALL', plain)}",
            "found = jax.grad(lambda w: weighted(function(w, GIVEN)))(start)",
            "of = dict(zip(map(id, model.trainable_variables), found))",
            "found = [[of[id(v)] for v in layer.trainable_variables] for layer in layers]",
            _flat(dtype),
        )
    else:
        plain = "lambda x: model(x, training=False)"
        lines = (
            f"function = {call.replace('CALL', plain)}",
            "gradient = jax.grad(lambda inputs: weighted(function(GIVEN)))",
            "outputs = gradient(inputs)",
        )
        if question == HESSIAN:
            along = "[cosines(x).astype(x.dtype) for x in inputs]"
            lines = (*lines[:2], f"outputs = jax.jvp(gradient, (inputs,), ({along},))[1]")
    return Code(("import jax",), (*head, *lines))
