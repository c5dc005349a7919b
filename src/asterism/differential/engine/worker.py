"""What a worker process does: one library, and the converters that it hosts, while it lives.

It gets requests as JSON and answers each; whatever the library prints goes elsewhere. The library's
exceptions are answers; its crashes are for the parent to see.
"""

from __future__ import annotations

import json
import os
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays
from asterism.core.workers.channel import Channel
from asterism.differential.adapters.code import execute
from asterism.differential.adapters.library import (
    CONVERTERS,
    LIBRARIES,
    UNSUPPORTED,
    Library,
    LibraryPlugin,
)
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.adapters.questions import LENGTHENED, QUESTIONS
from asterism.differential.engine.branches import SWITCH, BranchMeter
from asterism.differential.engine.messages import is_internal, is_unsupported, strip_volatile_parts
from asterism.memo.graphs.light_keras import import_keras

Answer = dict[str, Any]


class Worker:
    """Answers requests. It keeps the latest model, so that its backends build it once.

    What a backend has compiled and run is kept, too, for other inputs of the same model.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self._model: dict[str, Any] = {}
        self._subject: ModelUnderTest | None = None
        self._compiled: dict[tuple[str, str | None], Any] = {}
        self._stage = ""

    def answer(self, request: dict[str, Any]) -> Answer:
        """The end of one step, and a limit that the library states of it."""
        limits = self.library.stated_limits
        if not limits:
            return self._answer(request)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            answer = self._answer(request)
        stated = (str(w.message) for w in said if is_unsupported("", str(w.message), limits))
        return {**answer, "warned": strip_volatile_parts(next(stated, ""))}

    def _answer(self, request: dict[str, Any]) -> Answer:
        """The end of one step, with what it asks for."""
        steps = {
            "text": ("run", _executed),
            "convert": ("convert", self._convert),
            "describe": ("build", self._layers),
            "save": ("build", self._save),
            "run": ("compile", self._run),
        }
        self._stage, step = steps[request["step"]]
        try:
            found = step(request)
            return {**found, "status": "ok", "stage": self._stage}
        except MemoryError as error:
            return {
                "status": "memory",
                "stage": self._stage,
                "message": strip_volatile_parts(str(error)),
            }
        except BaseException as error:
            converts = request["step"] == "convert"
            plugin: LibraryPlugin = CONVERTERS[request["backend"]]() if converts else self.library
            answer = {**_describe(error, plugin), "stage": self._stage}
            form = request.get("model", {}).get("form")
            return _of_free_length(answer) if form == LENGTHENED else answer

    def _open(self, request: dict[str, Any]) -> ModelUnderTest:
        if request["model"] != self._model or self._subject is None:
            self._model, self._compiled = request["model"], {}
            facts = dict(request["model"])
            places = {n: Path(facts[n]) for n in ("folder", "weights") if facts.get(n)}
            self._subject = ModelUnderTest(**(facts | places))
        return self._subject

    def _convert(self, request: dict[str, Any]) -> Answer:
        model_under_test, converter = self._open(request), CONVERTERS[request["backend"]]()
        target = model_under_test.file(converter.name, converter.suffix)
        converter.convert(model_under_test, target)
        return {}

    def _layers(self, request: dict[str, Any]) -> Answer:
        return {"layers": self._open(request).described()}

    def _save(self, request: dict[str, Any]) -> Answer:
        """Write the model as a file of Keras' own."""
        from asterism.models.keras_models.reading import save_keras

        model_under_test = self._open(request)
        save_keras(model_under_test.keras(), Path(request["target"]))
        return {}

    def _run(self, request: dict[str, Any]) -> Answer:
        made = (request["option"], request["dtype"])
        model_under_test = self._open(request)
        compiled = self._compiled.pop(made, None)
        if compiled is None and self.library.keras_backend is not None:
            self._stage = "build"
            zeros = self.library.zero_initializers
            model_under_test.keras(dtype=request["dtype"], zero_initializers=zeros)
            self._stage = "compile"
        if compiled is None:
            compiled = self.library.compile(model_under_test, request["option"])
        self._stage = "run"
        self._write_outputs(compiled, request)
        if not self.library.stated_limits:  # or what it warns of is not said again
            self._compiled[made] = compiled  # nothing that has failed
        return {}

    def _write_outputs(self, compiled: Any, request: dict[str, Any]) -> None:
        """Run the model on each kind of inputs; a reference gets them in its own dtype."""
        dtype, given = request["dtype"], read_arrays(Path(request["inputs"]))
        results: dict[str, Any] = {}
        for kind in request["distributions"]:
            inputs = [array for name, array in given.items() if name.startswith(f"{kind}/")]
            if dtype is not None:
                inputs = [i.astype(dtype) if i.dtype.kind == "f" else i for i in inputs]
            asked = kind if dtype is None or kind in QUESTIONS else ""
            outputs = self.library.run(compiled, inputs, asked)
            results |= {f"{kind}/{at}": array for at, array in enumerate(outputs)}
        np.savez(request["target"], **results)


def _executed(request: dict[str, Any]) -> Answer:
    """Run a text by itself; the arrays that one of its names holds are written."""
    space: dict[str, Any] = {"__name__": "__main__"}
    execute(request["text"], space)
    arrays = arrays_of(space[request["result"]])
    np.savez(request["target"], *(array for array, _ in arrays))
    return {"dtypes": [name for _, name in arrays]}


def _of_free_length(answer: Answer) -> Answer:
    """What a failure on a free length is: few libraries say which lengths may be free.

    An internal error is one of a compiler or a converter, which rejects nothing by it. What Keras
    says while it builds the model is a rejection, whatever its words.
    """
    if answer["status"] != "error":
        return answer
    internal = answer["stage"] != "build" and is_internal(answer["exception"], answer["message"])
    return answer if internal else {**answer, "status": "unsupported"}


def _describe(error: BaseException, plugin: LibraryPlugin) -> Answer:
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    name, message = f"{module}{kind.__qualname__}", strip_volatile_parts(str(error))
    patterns = (*UNSUPPORTED, *plugin.unsupported)
    known = is_unsupported(name, str(error), patterns)
    return {
        "status": "unsupported" if known else "error",
        "exception": name,
        "message": message,
        "frame": _innermost(error),
    }


def _innermost(error: BaseException) -> str:
    """The deepest frame that lies in an installed package."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = frame.filename.replace(os.sep, "/")
        if "site-packages/" in path and "traceback_utils" not in path:
            return f"{path.split('site-packages/')[1]}:{frame.name}"
    return ""


def serve(channel: Channel, name: str) -> None:
    """Be the worker of the library called ``name`` until the parent closes its end."""

    def send(answer: Answer) -> None:
        channel.send(json.dumps(answer).encode())

    warnings.simplefilter("ignore")
    library = LIBRARIES[name]()
    try:
        if library.keras_backend is not None:
            import_keras(library.keras_backend)
        library.start()
        library.versions()  # one that is not installed has none
        send({"status": "ready"})
    except Exception as error:  # a broken installation is reported, and the run goes on
        send(
            {
                "status": "broken",
                "message": strip_volatile_parts(f"{type(error).__name__}: {error}"),
            }
        )
        return
    worker = Worker(library)
    meter = BranchMeter() if os.environ.get(SWITCH) else None
    for request in channel.requests():
        before = time.process_time()
        answer = worker.answer(json.loads(bytes(request)))
        answer["seconds"] = time.process_time() - before
        send(answer if meter is None else {**answer, "news": meter.news()})


def arrays_of(value: Any) -> list[tuple[NDArray[Any], str]]:
    """The arrays and numbers of a result, and the name of the dtype that each has there.

    ``bfloat16``, which NumPy lacks, becomes ``float32``.

    Args:
        value: arrays, tensors and numbers, perhaps in tuples, lists and dictionaries.
    """
    return [_array(leaf) for leaf in _leaves(value)]


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _leaves(part)
    elif value is not None:
        yield value


def _array(leaf: Any) -> tuple[NDArray[Any], str]:
    if hasattr(leaf, "detach"):  # of PyTorch
        leaf = leaf.detach().resolve_conj().resolve_neg()
        name = str(leaf.dtype).removeprefix("torch.")
        return (leaf.float() if name == "bfloat16" else leaf).numpy(), name
    if hasattr(leaf, "values") and hasattr(leaf, "indices"):  # TensorFlow's slices
        leaf = leaf.values
    array = np.asarray(leaf)
    name = str(array.dtype)
    return (array.astype(np.float32) if name == "bfloat16" else array), name
