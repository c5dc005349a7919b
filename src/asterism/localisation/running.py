"""Running ONNX graphs on batches of inputs, one thread a graph, several graphs side by side.

A *run* is one call of a model, or the calls of a streaming model one after the other, for a batch
of items in lockstep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError, extract_reason
from asterism.core.settings import machine
from asterism.models.formats.onnx import open_session

Array = NDArray[Any]
#: The inputs of one call, by the model's names.
Feed = Mapping[str, Array]
Item = TypeVar("Item")
Result = TypeVar("Result")

#: Element types of numbers with a fraction, as ONNX Runtime writes them.
FLOATS = {"float": np.float32, "float16": np.float16, "double": np.float64}


@dataclass(frozen=True)
class Stream:
    """The inputs of successive calls, between which a model keeps states.

    Attributes:
        first: inputs of the first call, with the states before it.
        later: inputs of each further call, without states.
        carried: the output that is a state's value before the next call, by the state's input.
    """

    first: Feed
    later: Sequence[Feed]
    carried: Mapping[str, str]


@dataclass(frozen=True)
class FilledRun:
    """A run of a model with a fixed batch, padded with items whose answers are ignored.

    Attributes:
        run: the run of the whole batch.
        items: how many items at its beginning are asked about.
    """

    run: Feed | Stream
    items: int


#: What a model is run on at a time.
Run = Feed | Stream | FilledRun


def _whole(run: Run) -> Feed | Stream:
    """A run with all its items."""
    return run.run if isinstance(run, FilledRun) else run


def first_call(run: Run) -> Feed:
    """All inputs of the first call of a run."""
    whole = _whole(run)
    return whole.first if isinstance(whole, Stream) else whole


def number_of_calls(run: Run) -> int:
    """How many calls a run takes."""
    whole = _whole(run)
    return 1 + len(whole.later) if isinstance(whole, Stream) else 1


def carried_outputs(runs: Iterable[Run]) -> set[str]:
    """Names of outputs that are states rather than answers."""
    streams = [run for run in map(_whole, runs) if isinstance(run, Stream)]
    return {name for stream in streams for name in stream.carried.values()}


class Session:
    """A graph in ONNX Runtime, on the processor.

    Args:
        model: an ``onnx.ModelProto``, or one that is serialised.
        name: the name of the model, for messages.
        optimised: whether ONNX Runtime fuses nodes, as it does in use.

    Raises:
        UserError: ONNX Runtime cannot open it.
    """

    def __init__(self, model: Any, name: str, *, optimised: bool = True) -> None:
        content = model if isinstance(model, bytes) else model.SerializeToString()
        self._session = open_session(content, name, optimised=optimised)
        self._name = name
        self.input_types = {i.name: _element(i.type) for i in self._session.get_inputs()}
        self.output_types = {o.name: _element(o.type) for o in self._session.get_outputs()}

    def given(self, feed: Feed) -> dict[str, Array]:
        """The inputs under the model's own names, floats cast to the width that it takes.

        Raises:
            UserError: some are missing.
        """
        types = self.input_types
        by_name = all(name in feed for name in types)
        if not by_name and len(feed) != len(types):
            raise UserError(f"{self._name} takes {list(types)}, and {list(feed)} are given")
        values = [feed[name] for name in types] if by_name else list(feed.values())
        return {
            name: value.astype(FLOATS[kind]) if kind in FLOATS else value
            for (name, kind), value in zip(types.items(), values, strict=True)
        }

    def calls(self, run: Run, names: Mapping[str, str] | None = None) -> Iterator[dict[str, Array]]:
        """Inputs and outputs of each call of a run, with this model's own states carried on.

        Args:
            run: the inputs.
            names: this model's names of outputs that carry a state, where the run has others.

        Raises:
            UserError: the model does not take such inputs.
        """
        whole = _whole(run)
        stream = whole if isinstance(whole, Stream) else Stream(whole, (), {})
        named, states = names or {}, dict[str, Array]()
        for feed in ({}, *stream.later):
            given = self.given({**stream.first, **feed, **states})
            values = given | self.run(given)
            yield values
            states = {one: values[named.get(o, o)] for one, o in stream.carried.items()}

    def answers(self, run: Run, names: Mapping[str, str]) -> dict[str, Array]:
        """Outputs of a run: ``(n, ...)``, or of a stream ``(n, calls, ...)``.

        Items that only fill up a batch are left out.

        Args:
            run: the inputs.
            names: this model's names of all outputs, by those that they get here.

        Raises:
            UserError: see :meth:`calls`.
        """
        wanted = {one: other for one, other in names.items() if one not in carried_outputs([run])}
        found = [{one: call[o] for one, o in wanted.items()} for call in self.calls(run, names)]
        items = run.items if isinstance(run, FilledRun) else None
        if not isinstance(_whole(run), Stream):
            # Copies: the runtime's own arrays keep all memory of their session.
            return {one: _copied(value, items) for one, value in found[0].items()}
        return {one: np.stack([call[one][:items] for call in found], axis=1) for one in wanted}

    def run(self, feed: Feed, wanted: Sequence[str] | None = None) -> dict[str, Array]:
        """Outputs of one call.

        Args:
            feed: arrays by the model's names, maybe with further ones; or under other names, in
                the order of the model's inputs.
            wanted: names of outputs, all where it is None.

        Raises:
            UserError: the model does not take such inputs.
        """
        given = self.given(feed)
        names = list(self.output_types) if wanted is None else list(wanted)
        try:
            return dict(zip(names, self._session.run(names, given), strict=True))
        except Exception as error:
            why = extract_reason(str(error))
            raise UserError(f"ONNX Runtime cannot run {self._name}: {why}") from None


def _copied(value: Array, items: int | None) -> Array:
    """A copy of the values of the first items."""
    return np.array(value[:items] if np.ndim(value) else value)


def _element(kind: str) -> str:
    """``float`` of ``tensor(float)``."""
    match = re.fullmatch(r"tensor\((\w+)\)", kind)
    return match[1] if match else kind


def run_in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """The results of independent work, in order, by as many threads as there are processors."""
    with ThreadPoolExecutor(machine.available_threads()) as pool:
        return list(pool.map(work, items))


def batches(arrays: Mapping[str, Array], size: int) -> list[dict[str, Array]]:
    """Arrays of equal length, cut along their first axis into the inputs of calls.

    Args:
        arrays: ``(N, ...)`` each.
        size: items of a call.
    """
    count = len(next(iter(arrays.values())))
    starts = range(0, count, size)
    return [{name: a[start : start + size] for name, a in arrays.items()} for start in starts]
