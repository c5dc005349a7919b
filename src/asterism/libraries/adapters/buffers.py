"""Where the outputs of a PyTorch model lie in memory.

A reproducer holds the source of these functions, which therefore import what they need themselves.
"""

from typing import Any


def buffers_of(call: Any, inputs: Any) -> Any:
    """The strides of each output, and whether it shares memory with an input; and the outputs.

    They are read after the inputs were written over, but those that share the inputs' memory.
    """
    import torch

    given = [torch.from_numpy(i.copy()) for i in inputs]
    with torch.no_grad():
        outputs = call(given if len(given) > 1 else given[0], training=False)
        many = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
        owned = {i.untyped_storage().data_ptr() for i in given if i.numel()}
        shared = [o.numel() > 0 and o.untyped_storage().data_ptr() in owned for o in many]
        kept = [o.clone() if s else o for o, s in zip(many, shared, strict=True)]
        for tensor in given:
            tensor.fill_(1)
        call(given if len(given) > 1 else given[0], training=False)
    said = [(strides_of(o), s) for o, s in zip(many, shared, strict=True)]
    return said, [o.numpy() for o in kept]


def strides_of(tensor: Any) -> Any:
    """The strides of the axes that have more than one place."""
    pairs = zip(tensor.stride(), tensor.shape, strict=True)
    return tuple(stride for stride, size in pairs if size > 1) if tensor.numel() else ()


def lies_in(buffer: Any) -> str:
    """Where an output lies, in words."""
    strides, shared = buffer
    where = "an input's memory" if shared else "memory of its own"
    return f"the strides {strides} and {where}"
