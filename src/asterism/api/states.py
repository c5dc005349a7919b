"""Hidden states of a recurrent network of the caller's, and what tests exercise of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.api.given import as_arrays, is_file, is_program, is_torch_module, with_classes_of
from asterism.api.lane_results import LaneResult
from asterism.config import compose_changed_params
from asterism.core.files.artifacts import write_json
from asterism.core.messages.console import log_to_stderr
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.core.svg import write_svg
from asterism.data.given import ArrayInputs
from asterism.deepstellar.criteria import measure_criteria
from asterism.deepstellar.model.markov_chain import draw_markov_chain
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.params import AbstractionParams
from asterism.models.recurrent.model import RecurrentModel
from asterism.project import packaged_conf

if TYPE_CHECKING:
    import polars as pl


class _Params(ParameterSection):
    """What is read of the parameters."""

    abstraction: AbstractionParams


@dataclass(frozen=True, eq=False, repr=False)
class StateTraces:
    """What a recurrent network computes for some sequences, step by step.

    Attributes:
        states: float32 ``(N, T, H)``.
        probabilities: of classes, float32 ``(N, K)``.
        labels: the sequences' classes, int64 ``(N,)``; None where they are not known.
    """

    states: NDArray[np.float32]
    probabilities: NDArray[np.float32]
    labels: NDArray[np.int64] | None

    @property
    def predicted(self) -> NDArray[np.int64]:
        """The likeliest class of each sequence, ``(N,)``."""
        likeliest: NDArray[np.int64] = self.probabilities.argmax(axis=1)
        return likeliest

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Which are classified correctly, ``(N,)``; all of them without labels."""
        every = np.ones(len(self.states), np.bool_)
        return every if self.labels is None else self.predicted == self.labels

    def part(self, which: slice) -> StateTraces:
        """Those of some sequences."""
        labels = None if self.labels is None else self.labels[which]
        return StateTraces(self.states[which], self.probabilities[which], labels)


@dataclass(frozen=True, eq=False, repr=False)
class HiddenStates(LaneResult):
    """The hidden states of a recurrent network, and what tests exercise of them.

    Attributes:
        layer: whose states these are.
        traces: of the sequences.
        tests: of the tests; None where no tests were given.
    """

    layer: str
    traces: StateTraces
    tests: StateTraces | None
    notes: tuple[str, ...]
    _params: _Params

    _lane = "stateful"

    @property
    def states(self) -> NDArray[np.float32]:
        """Those of the sequences, float32 ``(N, T, H)``."""
        return self.traces.states

    @property
    def probabilities(self) -> NDArray[np.float32]:
        """Of classes, for the sequences, float32 ``(N, K)``."""
        return self.traces.probabilities

    @cached_property
    def model(self) -> TraceModel:
        """The Markov chain over abstract states, of the sequences that are classified correctly."""
        training, _ = self._sets
        known, (_, classes) = training.correct, training.probabilities.shape
        if not known.any():
            raise UserError("no sequence is classified correctly: there is nothing to profile")
        labels, params = training.predicted[known], self._params.abstraction
        return TraceModel.fit(training.states[known], labels, classes, params)

    @cached_property
    def values(self) -> dict[str, float]:  # type: ignore[override]  # worked out when wanted
        """What the tests exercise of the model: the value of each coverage criterion, by name."""
        return measure_criteria(self.model, self.model.abstraction.encode(self._sets[1].states))

    @property
    def _sets(self) -> tuple[StateTraces, StateTraces]:
        """The traces that the model is made of, and those that are held against it."""
        if self.tests is not None:
            return self.traces, self.tests
        return self.traces.part(slice(0, None, 2)), self.traces.part(slice(1, None, 2))

    def to_frame(self) -> pl.DataFrame:
        """A table of Polars with a row for each sequence and step: the state in columns."""
        import polars as pl

        count, steps, width = self.states.shape
        rows = self.states.reshape(-1, width)
        return pl.DataFrame(
            {
                "sequence": np.repeat(np.arange(count), steps),
                "step": np.tile(np.arange(steps), count),
                **{f"state_{i}": rows[:, i] for i in range(width)},
            }
        )

    def _write(self, workspace: Path) -> ParameterSection:
        training, tests = self._sets
        metrics = workspace / "metrics"
        if training.labels is not None and tests.labels is not None:
            shares = (float(part.correct.mean()) for part in (training, tests))
            named = zip(("train_accuracy", "test_accuracy"), shares, strict=True)
            write_json(metrics / "train_rnn.json", dict(named))
        profiled = int(training.correct.sum())
        write_json(metrics / "profile_states.json", {"profiled": profiled})
        write_json(metrics / "build_dtmc.json", self.model.facts())
        covered = {"inputs": len(tests.states), **self.values}
        write_json(metrics / "measure_coverage.json", {"test": covered})
        self.model.save(workspace / "artifacts/build_dtmc")
        write_svg(workspace / "plots/build_dtmc/graph.svg", draw_markov_chain(self.model))
        return self._params


def states(
    model: Any,
    sequences: Any,
    tests: Any = None,
    labels: Any = None,
    test_labels: Any = None,
    *,
    layer: str | None = None,
    overrides: Sequence[str] = (),
) -> HiddenStates:
    """The hidden states of one layer of a recurrent network, and what tests exercise of them.

    The states of the sequences become a Markov chain, whose states and transitions tests visit
    (DeepStellar, Du et al., ESEC/FSE 2019). It is made when verdict, values or page are wanted.

    Args:
        model: a file (``.keras``, ``.h5``, ``.onnx``, ``.pt2``), a model of Keras, or a module or
            an exported program of PyTorch, which ends in scores of classes ``(N, K)``.
        sequences: an array or tensor ``(N, T, F)``, ``(N, T)`` of tokens, a data set of such, or a
            file of such.
        tests: the same of the tests; None to hold every second of the sequences against the others.
        labels: of the sequences, integers ``(N,)``; None for those of the data set, or none. Only
            sequences that are classified correctly make the chain.
        test_labels: of the tests.
        layer: the layer; None for the last recurrent one. In PyTorch a layer, or a cell that is
            called step by step, by its fully qualified name.
        overrides: of parameters, ``"abstraction.m=20"``.

    Raises:
        UserError: there is no such layer, or the network takes no such sequences.

    Examples:
        >>> import torch
        >>> class Last(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.rnn = torch.nn.GRU(4, 6, batch_first=True)
        ...         self.out = torch.nn.Linear(6, 3)
        ...
        ...     def forward(self, x):
        ...         return self.out(self.rnn(x)[0][:, -1])
        >>> _ = torch.manual_seed(0)
        >>> found = states(Last(), torch.randn(40, 5, 4), tests=torch.randn(20, 5, 4))
        >>> found.states.shape, found.tests.states.shape
        ((40, 5, 6), (20, 5, 6))
        >>> 0 < found.values["basic_state"] < 1
        True
    """
    log_to_stderr()
    params = compose_changed_params(_Params, overrides, packaged_conf().parent)
    given = [as_arrays(sequences, labels)]
    if tests is not None:
        given.append(with_classes_of(given[0], as_arrays(tests, test_labels)))
    with ExitStack() as after:
        network = RecurrentModel(_engine(model, layer, given[0], after))
        found = []
        for part in given:
            probabilities, hidden = network.run(part.items)
            found.append(StateTraces(hidden, probabilities, part.labels))
    components = min(params.abstraction.k, network.width)
    fitting = params.abstraction.model_copy(update={"k": components})
    return HiddenStates(
        layer=network.layer,
        traces=found[0],
        tests=None if tests is None else found[1],
        notes=network.engine.notes,
        _params=params.model_copy(update={"abstraction": fitting}),
    )


def _engine(model: Any, layer: str | None, given: ArrayInputs, after: ExitStack) -> Any:
    if is_file(model):
        from asterism.models.recurrent.opening import IsolatedEngine

        return IsolatedEngine(Path(model), layer)
    keras = sys.modules.get("keras")
    if keras is not None and isinstance(model, keras.Model):
        from asterism.models.recurrent.opening import engine_for

        return engine_for(model, layer)
    if is_torch_module(model):
        from asterism.models.recurrent.torch_engine import TorchEngine
        from asterism.models.torch_modules import evaluation_mode, plain_module

        after.enter_context(evaluation_mode(model))
        return TorchEngine(plain_module(model), layer, given.items)
    if is_program(model):
        from asterism.models.recurrent.torch_engine import ProgramEngine

        return ProgramEngine(model.module(), layer)
    raise UserError(f"{type(model).__name__} is no recurrent network of Keras, ONNX or PyTorch")
