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
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays
from asterism.core.workers.channel import Channel
from asterism.differential.adapters.code import execute
from asterism.differential.adapters.forms import LENGTHENED, LONGER
from asterism.differential.adapters.library import (
    CONVERTERS,
    LIBRARIES,
    UNSUPPORTED,
    Library,
    Plugin,
)
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.adapters.questions import FIRST, OVERWRITTEN, QUESTIONS, RESIZED
from asterism.differential.engine.array_files import INPUTS
from asterism.differential.engine.branches import SWITCH, BranchMeter
from asterism.differential.engine.messages import is_internal, is_unsupported, steady
from asterism.differential.engine.texts import arrays_of
from asterism.memo.graphs.light_keras import import_keras

Answer = dict[str, Any]


class Worker:
    """Answers requests. It keeps the latest model, so that its backends build it once.

    What a backend has compiled and run is kept, too, for other inputs of the same model.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self._key: tuple[Any, ...] = ()
        self._subject: ModelUnderTest | None = None
        self._compiled: dict[tuple[str, str | None], Any] = {}

    def answer(self, request: dict[str, Any]) -> Answer:
        """The end of one step, and a limit that the library states of it."""
        limits = self.library.stated_limits
        if not limits:
            return self._answer(request)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            answer = self._answer(request)
        stated = (str(w.message) for w in said if is_unsupported("", str(w.message), limits))
        return {**answer, "warned": steady(next(stated, ""))}

    def _answer(self, request: dict[str, Any]) -> Answer:
        """The end of one step, with the names of the arrays that it wrote."""
        progress = {"stage": "run" if request["step"] == "text" else "compile"}
        plugin: Plugin = self.library
        try:
            if request["step"] == "text":
                return {**_executed(request), "status": "ok", "stage": "run"}
            model_under_test = self._open(request)
            if request["step"] == "convert":
                progress["stage"] = "convert"
                plugin = converter = CONVERTERS[request["backend"]]()
                converter.convert(
                    model_under_test, model_under_test.file(converter.name, converter.suffix)
                )
                return {"status": "ok", "stage": "convert"}
            if request["step"] == "describe":
                facts = {
                    "arguments": model_under_test.arguments(),
                    "variables": model_under_test.variables(),
                }
                return {"status": "ok", "stage": "build", **facts}
            if request["step"] == "passes":
                passes = self.library.passes(model_under_test, request["option"])
                return {"status": "ok", "stage": "compile", "passes": passes}
            made = (request["option"], request["dtype"])
            compiled = self._compiled.pop(made, None)
            if compiled is None and self.library.keras_backend is not None:
                progress["stage"] = "build"
                zeros = self.library.zero_initializers
                model_under_test.keras(dtype=request["dtype"], zero_initializers=zeros)
                progress["stage"] = "compile"
            if compiled is None:
                compiled = self.library.compile(model_under_test, request["option"])
            progress["stage"] = "run"
            self._run(compiled, request)
            if not self.library.stated_limits:  # or what it warns of is not said again
                self._compiled[made] = compiled  # nothing that has failed
            return {"status": "ok", "stage": "run"}
        except MemoryError as error:
            return {"status": "memory", "stage": progress["stage"], "message": steady(str(error))}
        except BaseException as error:
            described = _describe(error, plugin)
            answer = {**described, "stage": progress["stage"]}
            return _of_free_length(answer) if request.get("form") == LENGTHENED else answer

    def _open(self, request: dict[str, Any]) -> ModelUnderTest:
        key = (request["folder"], request["weights"], str(request["outputs"]))
        if key != self._key or self._subject is None:
            weights = None if request["weights"] is None else Path(request["weights"])
            folder = Path(request["folder"])
            self._subject = ModelUnderTest(
                folder,
                weights,
                request["outputs"],
                request["opset"],
                request["batch"],
                tuple(request["disabled"]),
                request["form"],
                request["changed"],
            )
            self._key = key
            self._compiled = {}
        return self._subject

    def _run(self, compiled: Any, request: dict[str, Any]) -> None:
        distributions = read_arrays(Path(request["arrays"]) / INPUTS)
        results: dict[str, Any] = {}
        for distribution in request["distributions"]:
            count = sum(name.startswith(f"{distribution}/") for name in distributions)
            inputs = [distributions[f"{distribution}/{i}"] for i in range(count)]
            if request["dtype"] is not None:
                inputs = [
                    i.astype(request["dtype"]) if np.issubdtype(i.dtype, np.floating) else i
                    for i in inputs
                ]
            if distribution == RESIZED:  # the compiled model has seen another size before
                self.library.run(compiled, [i[:FIRST] for i in inputs])
            if distribution == LENGTHENED and request["dtype"] is None:
                self.library.run(compiled, [_longer(i) for i in inputs])
            overwrites = distribution == OVERWRITTEN and request["dtype"] is None
            if distribution in QUESTIONS or overwrites:
                given = self.library.answer(compiled, distribution, inputs)
            else:
                given = self.library.run(compiled, inputs)
            for at, array in enumerate(given):
                results[f"{distribution}/{at}"] = array
        np.savez(Path(request["arrays"]) / request["target"], **results)


def _executed(request: dict[str, Any]) -> Answer:
    """Run a text by itself; the arrays that one of its names holds are written."""
    space: dict[str, Any] = {"__name__": "__main__"}
    execute(request["text"], space)
    arrays = arrays_of(space[request["result"]])
    np.savez(request["target"], *(array for array, _ in arrays))
    return {"dtypes": [name for _, name in arrays]}


def _longer(array: NDArray[Any]) -> NDArray[Any]:
    """A batch with more steps: the first ones once more."""
    more = np.take(array, np.arange(LONGER) % array.shape[1], axis=1)
    return np.concatenate([array, more], axis=1)


def _of_free_length(answer: Answer) -> Answer:
    """What a failure on a free length is: few libraries say which lengths may be free.

    An internal error is one of a compiler or a converter, which rejects nothing by it. What Keras
    says while it builds the model is a rejection, whatever its words.
    """
    if answer["status"] != "error":
        return answer
    internal = answer["stage"] != "build" and is_internal(answer["exception"], answer["message"])
    return answer if internal else {**answer, "status": "unsupported"}


def _describe(error: BaseException, plugin: Plugin) -> Answer:
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    name, message = f"{module}{kind.__qualname__}", steady(str(error))
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
        send({"status": "broken", "message": steady(f"{type(error).__name__}: {error}")})
        return
    worker = Worker(library)
    meter = BranchMeter() if os.environ.get(SWITCH) else None
    for request in channel.requests():
        before = time.process_time()
        answer = worker.answer(json.loads(bytes(request)))
        answer["seconds"] = time.process_time() - before
        send(answer if meter is None else {**answer, "news": meter.news()})
