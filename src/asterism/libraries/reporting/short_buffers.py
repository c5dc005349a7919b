"""Short scripts for outputs whose strides or shared memory differ from an eager run."""

from __future__ import annotations

from dataclasses import replace

from asterism.libraries.adapters.backends import library_of, option_of
from asterism.libraries.adapters.whole_graphs import WHOLE
from asterism.libraries.reporting.short_code import Code, short_code

#: By backend, what :func:`short_code` makes of the model, as a function of the batch ``x``.
_CALLS = {
    "pytorch:compile": "function(x, training=False)",
    "pytorch:compile_dynamic": "function(x, training=False)",
    **{f"pytorch:{option}": "function(x)" for option in (*WHOLE, "export")},
    "pytorch:keras_file": "loaded(x, training=False)",
}
#: A function of the script: strides, and shared memory, of each output. Each run has own inputs.
_LIES = (
    "def lies(call):",
    "    given = list(map(torch.tensor, inputs))",
    "    memory = [x.untyped_storage().data_ptr() for x in given if x.numel()]",
    "    strides = lambda y: [s for s, n in zip(y.stride(), y.shape) if n > 1]",
    "    outputs = [y for y in keras.tree.flatten(call(GIVEN)) if y.numel()]",
    "    return [(strides(y), y.untyped_storage().data_ptr() in memory) for y in outputs]",
)


def buffers_code(backend: str, inputs: int) -> Code | None:
    """Lines that set and print ``expected``, of an eager run, and ``outputs``; or None.

    Both are lists of the strides of each output that is not empty, and of whether it shares memory
    with an input.

    Args:
        backend: that is to blame.
        inputs: how many the model has.
    """
    call = _CALLS.get(backend)
    code = short_code(library_of(backend), option_of(backend), None, inputs)
    if call is None or code is None:
        return None
    runs = f"[lambda x: model(x, training=False), lambda x: {call}]"
    lines = (
        *_LIES,
        "with torch.no_grad():",
        f"    expected, outputs = map(lies, {runs})",
        'print("expected strides, and whether memory is an input\'s", expected, "actual", outputs)',
    )
    given = "given" if inputs > 1 else "given[0]"
    return replace(code, imports=("import torch",), called=lines, complete=True).put(
        {"GIVEN": given}
    )
