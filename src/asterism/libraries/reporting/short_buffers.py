"""Short scripts for outputs whose strides or shared memory differ from an eager run."""

from __future__ import annotations

from dataclasses import replace

from asterism.libraries.adapters.backends import library_of, option_of
from asterism.libraries.reporting.short_code import Code, short_code

#: By backend, the call of what :func:`short_code` makes of the model.
_CALLS = {
    "pytorch:compile": "function(GIVEN, training=False)",
    "pytorch:compile_dynamic": "function(GIVEN, training=False)",
    "pytorch:compile_graph": "function(GIVEN)",
    "pytorch:aot_inductor": "function(GIVEN)",
    "pytorch:export": "program.module()(GIVEN)",
    "pytorch:keras_file": "loaded(GIVEN, training=False)",
}
#: A function of the script: strides, and shared memory, of each output. Each run has own inputs.
_LIES = (
    "def lies(call):",
    "    given = list(map(torch.tensor, inputs))",
    "    memory = [x.untyped_storage().data_ptr() for x in given if x.numel()]",
    "    strides = lambda y: [s for s, n in zip(y.stride(), y.shape) if n > 1 and y.numel()]",
    "    shared = lambda y: y.numel() > 0 and y.untyped_storage().data_ptr() in memory",
    "    return [(strides(y), shared(y)) for y in keras.tree.flatten(call(given))]",
)


def buffers_code(backend: str, inputs: int) -> Code | None:
    """Lines that set and print ``expected``, of an eager run, and ``outputs``; or None.

    Both are lists of each output's strides and of whether it shares memory with an input.

    Args:
        backend: that is to blame.
        inputs: how many the model has.
    """
    call = _CALLS.get(backend)
    code = short_code(library_of(backend), option_of(backend), None, inputs)
    if call is None or code is None:
        return None
    lines = (
        *_LIES,
        "",
        "with torch.no_grad():",
        "    expected = lies(lambda given: model(GIVEN, training=False))",
        f"    outputs = lies(lambda given: {call})",
        'print("strides, and whether the memory is an input\'s: expected", expected)',
        'print("actual  ", outputs)',
    )
    given = "given" if inputs > 1 else "given[0]"
    made = replace(code, imports=("import torch",), called=lines, complete=True).put(
        {"GIVEN": given}
    )
    return replace(made, made=(*code.made, ""))
