"""Which modules of a quantised network are to blame, and the fewest that have to stay in float."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons import build_comparison
from asterism.localisation.localising import RankedNode
from asterism.localisation.repair import count_allowed_floats
from asterism.localisation.tensor_errors import TensorError
from asterism.localisation.trials import Trial, squared_error
from asterism.models.formats.torch_export import (
    TorchRuntime,
    open_program,
    save_program,
)
from asterism.models.signatures.torch import collect_tensors, state_of
from asterism.models.tensor_models.feeding import Feed
from asterism.models.tensor_models.subjects import FileSubject, ObjectSubject, Subject
from asterism.models.torch_modules import ModuleRuntime
from asterism.vetting.judging import RepairTask
from asterism.vetting.opening import VettingSession, find_row_shape, open_alternative_model
from asterism.vetting.params import REPAIRED_PROGRAM
from asterism.vetting.quantised_graphs import choose_part_exchange
from asterism.vetting.repair_figures import RepairFigures, write_localisation

#: Inputs of a call that follows all parts.
_BATCH = 8

_Opened = ModuleRuntime | TorchRuntime


def _opened(subject: Subject) -> _Opened:
    """A model as a module; the file of a program is opened in this process.

    Raises:
        UserError: it is neither a module nor a program of PyTorch.
    """
    if isinstance(subject, FileSubject) and subject.signature.format == "torch":
        return open_program(subject.path)
    runtime = getattr(subject, "runtime", None)
    if isinstance(runtime, _Opened):
        return runtime
    raise UserError("parts are exchanged between modules or programs of PyTorch")


def repair_modules(task: RepairTask, cases: NDArray[Any]) -> RepairFigures:
    """Find the fewest modules that have to stay in float, and judge the model with them in float.

    Each part that differs is exchanged for the original's alone. Then weights of few scales get one
    for each channel. Where that is not enough, sets of parts in float grow, the most to blame
    first, until enough of the deviations are gone.

    Args:
        task: a pair of modules or programs, and the folder that gets ``ranking.csv``,
            ``tensors.csv`` and ``speed.csv``; of a file also ``repaired.pt2``.
        cases: inputs on which they deviate, ``(n, ...)``.

    Raises:
        UserError: there is nothing to repair.
    """
    trials, wanted = _Trials(task.vetted, cases), task.vetted.params.repair
    ranking = trials.ranking(wanted.evaluations // 2)
    most = count_allowed_floats(len(trials.parts), wanted.float_share)
    trials.refine()
    chosen = trials.grown([one.index for one in ranking], most)
    write_localisation(ranking, trials.errors, task.folder)
    found = RepairFigures(
        quantised_nodes=len(trials.parts),
        evaluations=trials.spent,
        deviating_inputs=len(cases),
        blamed=ranking,
    )
    gone = 1 - chosen.deviation / trials.base.deviation
    within = f"with at most {most} of the {len(trials.parts)} quantised modules in float"
    if gone <= 0:
        return replace(found, reason=f"no model {within} takes any of the deviations away")
    reason = None
    if gone < wanted.gone:
        reason = (
            f"no model {within} takes {wanted.gone:.0%} of the deviations away; this one "
            f"takes {gone:.0%} of those that it was made by"
        )
    floats = sorted(chosen.floats)
    repaired: Subject = trials.subject(floats)
    if task.vetted.given.compressed.path is not None:
        repaired = trials.written(floats, task.folder / REPAIRED_PROGRAM)
    names = [trials.parts[index].name for index in floats]
    made = replace(
        found,
        reason=reason,
        kept_in_float=names,
        with_finer_scales=[name for name in trials.finer if name not in names],
        applied_by=trials.applied_by,
        nodes_in_float=len(names),
        float_share=len(names) / len(trials.parts),
        gone=gone,
    )
    return task.conclude(found, made, repaired, emulated=True)


class _Trials:
    """Runs of the compressed model with some parts in float, on the same inputs.

    Args:
        vetted: a pair of modules.
        cases: inputs on which they deviate.

    Attributes:
        parts: the parts that differ.
        base: the compressed model as it is.
        finer: names of parts whose weights get a scale for each channel in all that follows.
        spent: how many candidates ran.
        applied_by: see :class:`~asterism.vetting.module_pairs.PartExchange`.
        errors: the errors of the output of each part.

    Raises:
        UserError: see :func:`_opened`; or no part differs, or the models deviate on none of these
            inputs any more.
    """

    def __init__(self, vetted: VettingSession, cases: NDArray[Any]) -> None:
        pair = _opened(vetted.given.original), _opened(vetted.given.compressed)
        self._vetted, self._cases, self._runtimes = vetted, cases, pair
        named = pair[0].named, pair[1].named
        self._exchange = choose_part_exchange(pair[0].plain, pair[1].plain, named)
        self.finer: Sequence[str] = ()
        self.parts, self.applied_by = self._exchange.parts, self._exchange.applied_by
        if not self.parts:
            raise UserError(
                "nothing is to exchange: no module of the compressed model has the name of one of "
                "the original's, and another class or other weights"
            )
        params, self.spent, self._failed = vetted.params, 0, ""
        self._comparison = build_comparison(params.comparison, find_row_shape(vetted.shapes))
        self._comparison.calibrate(vetted.answers.f, vetted.answers.f)
        self._wanted, given = (model.predict(cases) for model in vetted.pair.models)
        self._noise = squared_error(self._wanted, given) or 1.0
        self.base = self._least = self._judged(frozenset(), given)
        if not self.base.deviation:
            raise UserError("asked again, the models agree on the inputs on which they deviated")
        self.errors: list[TensorError] = self._exchange.errors(
            *(lambda module, runtime=one: self._follow(runtime.running(module)) for one in pair)
        )

    def subject(self, floats: Sequence[int]) -> ObjectSubject:
        """The compressed model with these parts in float."""
        names = [self.parts[index].name for index in floats]
        runtime = self._runtimes[1].running(self._exchange.in_float(names, self.finer))
        size = sum(weights.nbytes for weights in collect_tensors(state_of(runtime.plain)))
        return ObjectSubject(f"{self._vetted.given.compressed.name}_repaired", runtime, size)

    def written(self, floats: Sequence[int], path: Path) -> FileSubject:
        """The compressed program with these parts in float, as a file.

        Raises:
            UserError: PyTorch cannot export it.
        """
        runtime = self.subject(floats).runtime
        assert isinstance(runtime, TorchRuntime)
        save_program(runtime.program(self._feed(runtime).inputs(self._cases[[0, -1]])), path)
        return FileSubject(path)

    def refine(self) -> None:
        """Give coarse weights a scale for each channel from now on, where that is any good."""
        self.finer = self._exchange.coarse
        trial = self._run(frozenset()) if self.finer else None
        if trial is None or trial.deviation >= self.base.deviation:
            self.finer = ()
        else:
            self._least = trial

    def ranking(self, most: int) -> list[RankedNode]:
        """The parts that were tried alone, the most to blame first.

        Args:
            most: parts that are tried: those with the largest errors of their own.

        Raises:
            UserError: the model fails with any of them in float.
        """
        own = {e.node: e.own.relative_l2 for e in self.errors if e.own is not None}
        noise = [own.get(part.name, 0.0) for part in self.parts]
        order = sorted(range(len(self.parts)), key=lambda index: (-noise[index], index))
        found = []
        for index in order[: max(1, most)]:
            if (trial := self._run(frozenset({index}))) is None:
                continue
            part, explained = self.parts[index], 1 - trial.deviation / self.base.deviation
            error = 1 - trial.error
            found.append(
                RankedNode(index, part.name, part.operator, explained, error, noise[index])
            )
        if not found:
            raise UserError(f"no module can be put back into float: {self._failed}")
        return sorted(found, key=lambda ranked: ranked.rank)

    def grown(self, order: Sequence[int], most: int) -> Trial:
        """The smallest of growing sets that takes enough of the deviations away, else the best."""
        tried = [self._least]
        for size in range(1, most + 1):
            if self._is_enough(tried[-1]):
                break
            if (trial := self._run(frozenset(order[:size]))) is None:
                continue
            tried.append(trial)
        return min(tried, key=lambda trial: (trial.deviation, trial.error, len(trial.floats)))

    def _is_enough(self, trial: Trial) -> bool:
        return 1 - trial.deviation / self.base.deviation >= self._vetted.params.repair.gone

    def _run(self, floats: frozenset[int]) -> Trial | None:
        """None where the model fails with these parts in float, which may read each other."""
        self.spent += 1
        try:
            with open_alternative_model(self._vetted, self.subject(sorted(floats))) as model:
                return self._judged(floats, model.predict(self._cases))
        except UserError as error:
            self._failed = str(error)
            return None

    def _judged(self, floats: frozenset[int], given: NDArray[np.float32]) -> Trial:
        deviates = self._comparison.deviates(self._wanted, given).astype(np.float64)
        return Trial(floats, deviates, squared_error(self._wanted, given) / self._noise)

    def _follow(self, runtime: _Opened) -> None:
        """Run a model in calls of a few inputs, one after the other."""
        feed = self._feed(runtime)
        for start in range(0, len(self._cases), _BATCH):
            runtime.run(feed.inputs(self._cases[start : start + _BATCH]))

    def _feed(self, runtime: _Opened) -> Feed:
        images = self._vetted.inputs.kind == "images"
        return Feed(runtime.signature, self._vetted.params.feeding, images)
