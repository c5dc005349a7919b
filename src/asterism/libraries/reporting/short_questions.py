"""Short scripts that ask for derivatives or for a step of training, by the library's own means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from asterism.libraries.adapters.backends import library_of, option_of
from asterism.libraries.adapters.question_scripts import optimizer_source
from asterism.libraries.adapters.questions import BY_LAYER, HESSIAN, TRAINING, WEIGHT_GRADIENT
from asterism.libraries.adapters.reloading import SUFFIXES
from asterism.libraries.adapters.whole_graphs import DIFFERENTIABLE
from asterism.libraries.reporting.short_code import Code, short_code
from asterism.libraries.reporting.short_draws import draws_code
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
#: Those that ``short_code`` makes of an exported program.
_PROGRAMS = tuple(f"pytorch:{option}" for option in (*DIFFERENTIABLE, "export"))
#: Keras has no setting for this option, so its step of training is written out.
_DYNAMIC = "compile_dynamic"
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
    library, option = library_of(backend), option_of(backend)
    drawn = draws_code(library, graph) if random_training(graph, (question,)) else Code(())
    if len(dtypes) > 1 or drawn is None:
        return None
    if integers and question not in BY_LAYER:
        return None
    (dtype,) = dtypes
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
            made, f"{name}(GIVEN, training=False)", question, dtype
        )
    elif backend in _PROGRAMS and question not in BY_LAYER:
        program = short_code(library, option, None, len(graph.inputs))
        made = [_COSINES, *(program.made if program is not None else ())]
        code = _of_torch(made, "function(GIVEN)", question, dtype)
    else:
        code = None
    if code is None:
        return None
    reload = _reloaded(option, by_layer=question in BY_LAYER)
    given = "inputs" if len(graph.inputs) > 1 else "inputs[0]"
    imports = tuple(dict.fromkeys((*code.imports, *drawn.imports)))
    lines = (*reload, *drawn.made, *code.made)
    return replace(code, imports=imports, made=lines).put({"GIVEN": given})


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
    if option not in (*_STEPS, _DYNAMIC):
        return None
    kind = graph.tensors[graph.outputs[0]].dtype
    shapes = [(BATCH, *graph.tensors[i].shape) for i in graph.outputs]
    targets = [f"np.cos(np.arange({prod(s)})).reshape({s})" for s in shapes]
    read = "w for w in layer.get_weights() if w.dtype.kind == 'f'"
    optimizer = optimizer_source(question)
    code = (
        _dynamic_step(optimizer, targets, kind)
        if option == _DYNAMIC
        else _compiled_step(option, optimizer, targets)
    )
    lines = (
        *code.made,
        f"found = [[{read}] for layer in layers]",
        _flat(dtype),
        f"outputs = [np.asarray(loss, {kind!r}), *outputs]",
    )
    return replace(code, made=lines)


def _compiled_step(option: str, optimizer: str, targets: Sequence[str]) -> Code:
    """Lines that set ``loss`` by Keras' own step of training."""
    target = targets[0] if len(targets) == 1 else f"[{', '.join(targets)}]"
    whole = ('keras.config.set_floatx("float64")  # of the loss',) if option == "float64" else ()
    lines = (
        *whole,
        f'model.compile({optimizer}, "mse"{_STEPS[option]})',
        f"loss = model.train_on_batch(GIVEN, {target})",
    )
    return Code((), lines)


def _dynamic_step(optimizer: str, targets: Sequence[str], kind: str) -> Code:
    """Lines that set ``loss`` by a step of PyTorch, as Keras' guide writes one."""
    function = _FUNCTIONS[f"pytorch:{_DYNAMIC}"]
    dtype, wanted = "float64" if kind == "float64" else "float32", "[w.value for w in weights]"
    lines = (
        f"error, weights = keras.losses.MeanSquaredError(dtype={dtype!r}), model.trainable_weights",
        "inputs = list(map(torch.from_numpy, inputs))",
        f"outputs = keras.tree.flatten({function}(GIVEN, training=True))",
        f"loss = sum(map(error, [{', '.join(targets)}], outputs)) + sum(model.losses)",
        f"gradients = torch.autograd.grad(loss, {wanted}, materialize_grads=True)",
        f"torch.no_grad()({optimizer}.apply)(gradients, weights)",
        "loss = loss.item()",
    )
    return Code(("import torch",), lines)


def _of_tensorflow(made: Sequence[str], call: str, question: str, dtype: str) -> Code:
    sums = 'tf.reduce_sum(tf.cast(y, "float64") * cosines(y))'
    head = (
        *made,
        f"weighted = lambda ys: sum({sums} for y in keras.tree.flatten(ys))",
        "inputs = list(map(tf.constant, inputs))",
    )
    zero = 'unconnected_gradients="zero"'
    if question == WEIGHT_GRADIENT:
        lines: tuple[str, ...] = (
            "variables = [[v.value for v in layer.trainable_variables] for layer in layers]",
            "with tf.GradientTape() as tape:",
            f"    total = weighted({call})",
            f"found = tape.gradient(total, variables, {zero})",
            _flat(dtype),
        )
    elif question == HESSIAN:
        lines = (
            "with tf.GradientTape() as outer:",
            "    outer.watch(inputs)",
            "    with tf.GradientTape() as tape:",
            "        tape.watch(inputs)",
            f"        total = weighted({call})",
            f"    total = weighted(tape.gradient(total, inputs, {zero}))",
            f"outputs = outer.gradient(total, inputs, {zero})",
        )
    else:
        lines = (
            "with tf.GradientTape() as tape:",
            "    tape.watch(inputs)",
            f"    total = weighted({call})",
            f"outputs = tape.gradient(total, inputs, {zero})",
        )
    return Code(("import tensorflow as tf",), (*head, *lines))


def _of_torch(made: Sequence[str], call: str, question: str, dtype: str) -> Code:
    sums = "(y.double() * torch.from_numpy(cosines(y))).sum()"
    head = (*made, f"weighted = lambda ys: sum({sums} for y in keras.tree.flatten(ys))")
    total = f"total = weighted({call})"
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
    by_weights = question == WEIGHT_GRADIENT
    calls = {
        "eager": "CALL",
        **dict.fromkeys(("jit", "float64"), "jax.jit(CALL)"),
        "vmap": f"jax.vmap(jax.jit(item){', (None, 0)' if by_weights else ''})",
        "vmap_of_gradient": "jax.jit(item)",
    }
    if option not in calls:
        return None
    of = "w, x" if by_weights else "x"
    batch = (
        "model.stateless_call(w, fixed, x, training=False)[0]"
        if by_weights
        else "model(x, training=False)"
    )
    called = calls[option].replace("CALL", f"lambda {of}: {batch}")
    function: tuple[str, ...] = (f"function = {called}",)
    if option.startswith("vmap"):
        item = batch.replace("x, training", "batch(x), training")
        function = (
            "batch = lambda x: jax.tree.map(lambda a: a[None], x)",
            f"item = lambda {of}: jax.tree.map(lambda a: a[0], {item})",
            *function,
        )
    if by_weights:
        function = (
            "start = [v.value for v in model.trainable_variables]",
            "fixed = [v.value for v in model.non_trainable_variables]",
            *function,
        )
    derived = _by_item(question) if option == "vmap_of_gradient" else _by_batch(question)
    layers: tuple[str, ...] = ()
    if by_weights:
        layers = (
            "of = dict(zip(map(id, model.trainable_variables), found))",
            "found = [[of[id(v)] for v in layer.trainable_variables] for layer in layers]",
            _flat(dtype),
        )
    return Code(("import jax",), (_COSINES, *function, *derived, *layers))


def _by_batch(question: str) -> tuple[str, ...]:
    """Lines that differentiate a function of the batch."""
    sums = '(y.astype("float64") * cosines(y)).sum()'
    weighted = f"weighted = lambda ys: sum({sums} for y in jax.tree.leaves(ys))"
    if question == WEIGHT_GRADIENT:
        return (weighted, "found = jax.grad(lambda w: weighted(function(w, GIVEN)))(start)")
    gradient = "gradient = jax.grad(lambda inputs: weighted(function(GIVEN)))"
    if question == HESSIAN:
        along = "[cosines(x).astype(x.dtype) for x in inputs]"
        return (weighted, gradient, f"outputs = jax.jvp(gradient, (inputs,), ({along},))[1]")
    return (weighted, gradient, "outputs = gradient(inputs)")


def _by_item(question: str) -> tuple[str, ...]:
    """Lines that map the derivative of one item over the batch.

    Each item is weighted by its own part of the batch's cosines.
    """
    by_weights = question == WEIGHT_GRADIENT
    over, given = ("function, (None, 0)", "start, GIVEN") if by_weights else ("function", "GIVEN")
    call = "function(w, GIVEN)" if by_weights else "function(GIVEN)"
    pairs = f"zip(jax.tree.leaves({call}), factors)"
    sums = f"sum((y * c).sum() for y, c in {pairs})"
    shapes = f"jax.tree.leaves(jax.eval_shape(jax.vmap({over}), {given}))"
    head = (
        f"factors = [cosines(y) for y in {shapes}]",
        f"total = lambda {'w, ' if by_weights else ''}inputs, factors: {sums}",
    )
    if by_weights:
        mapped = "jax.vmap(jax.grad(total), (None, 0, 0))(start, inputs, factors)"
        return (*head, f"found = [gradient.sum(0) for gradient in {mapped}]")
    if question == HESSIAN:
        second = "jax.jvp(lambda x: jax.grad(total)(x, c), (x,), (a,))[1]"
        return (
            *head,
            "along = [cosines(x).astype(x.dtype) for x in inputs]",
            f"second = lambda x, c, a: {second}",
            "outputs = jax.vmap(second)(inputs, factors, along)",
        )
    return (*head, "outputs = jax.vmap(jax.grad(total))(inputs, factors)")
