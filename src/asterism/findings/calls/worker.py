"""What a worker process does that runs texts: each gives arrays, or the words of its failure."""

from __future__ import annotations

import io
import json
import os
import traceback
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.workers.channel import Channel
from asterism.libraries.running.messages import steady

_EPSILON = 2.0**-23


def serve(channel: Channel, framework: str, imports: str) -> None:
    """Run texts until the parent closes its end.

    Args:
        channel: texts come through it, with the name that holds the result.
        framework: whose tensors they make.
        imports: lines that run once.
    """
    warnings.simplefilter("ignore")
    names: dict[str, Any] = {"moved": _MOVED.get(framework)}
    exec(imports, names)  # noqa: S102  (lines of a way, which the project has written)
    channel.send(b"ready")
    for request in channel.requests():
        given = json.loads(bytes(request))
        if framework == "pytorch":
            names["torch"]._dynamo.reset()
        answer, arrays = _answer(given["text"], given["result"], names, framework)
        content = io.BytesIO()
        np.savez(content, *arrays)
        channel.send(json.dumps(answer).encode(), content.getvalue())


def _answer(
    text: str, result: str, names: dict[str, Any], framework: str
) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    try:
        space = dict(names, __name__="__main__")
        exec(compile(text, "call.py", "exec"), space)  # noqa: S102  (made of tables)
        leaves = list(_leaves(space[result]))
        arrays = [_array(leaf, framework) for leaf in leaves]
    except MemoryError as error:
        return {"status": "memory", "message": steady(str(error))}, []
    except BaseException as error:
        kind = type(error)
        module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        return {
            "status": "error",
            "exception": f"{module}{kind.__qualname__}",
            "message": steady(str(error)),
            "frame": _innermost(error),
        }, []
    return {"status": "ok", "dtypes": [name for _, name in arrays]}, [a for a, _ in arrays]


def _leaves(value: Any) -> Any:
    """Arrays and numbers inside tuples, lists and dictionaries."""
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _leaves(part)
    elif value is not None:
        yield value


def _array(leaf: Any, framework: str) -> tuple[NDArray[Any], str]:
    """A leaf as an array that NumPy can write, and the name of its dtype."""
    if framework == "pytorch" and hasattr(leaf, "detach"):
        leaf = leaf.detach().resolve_conj().resolve_neg()
        name = str(leaf.dtype).removeprefix("torch.")
        return (leaf.float() if name == "bfloat16" else leaf).numpy(), name
    if framework == "tensorflow" and hasattr(leaf, "values") and hasattr(leaf, "indices"):
        leaf = leaf.values
    array = np.asarray(leaf)
    name = str(array.dtype)
    return (array.astype(np.float32) if name == "bfloat16" else array), name


def _innermost(error: BaseException) -> str:
    """The deepest frame that lies in an installed package."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = frame.filename.replace(os.sep, "/")
        if "site-packages/" in path and "traceback_utils" not in path:
            return f"{path.split('site-packages/')[1]}:{frame.name}"
    return ""


def _shift(shape: tuple[int, ...]) -> NDArray[np.float64]:
    return 1 + _EPSILON * np.random.default_rng(0).choice([-1.0, 1.0], shape)


def _moved_torch(x: Any) -> Any:
    import torch

    return x * torch.tensor(_shift(tuple(x.shape))) if x.is_floating_point() else x


def _moved_tensorflow(x: Any) -> Any:
    return x * _shift(tuple(x.shape)) if x.dtype.is_floating else x


def _moved_jax(x: Any) -> Any:
    import jax.numpy as jnp

    return x * jnp.asarray(_shift(x.shape), x.dtype) if jnp.issubdtype(x.dtype, "floating") else x


#: How inputs are moved by one rounding, by framework.
_MOVED = {"pytorch": _moved_torch, "tensorflow": _moved_tensorflow, "jax": _moved_jax}
