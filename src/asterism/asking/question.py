"""The settled question about a pair as overrides of Hydra, and the report of each decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from asterism.asking.budget import MINUTES, Cost, within
from asterism.asking.choosing import choose_all
from asterism.asking.compared_outputs import (
    compared,
    compared_names,
    matching_outputs,
    require_alike,
    told_by_names,
)
from asterism.asking.doubts import (
    copies,
    other_preprocessing,
    require_right,
    same_file,
    unlike_calibration,
)
from asterism.asking.earlier import earlier_run
from asterism.asking.further_inputs import following_roles, told_inputs
from asterism.asking.original import (
    LOOKED,
    OriginalAnswers,
    OriginalProbe,
    look,
    require_answers,
    scene_of,
)
from asterism.asking.outputs import ComparisonChoice, Output, OutputContext
from asterism.asking.pair import kind_of_request, require_pair, told_of
from asterism.asking.preprocessing import best, of_range, try_preprocessing
from asterism.asking.request import VetRequest
from asterism.asking.texts import special_tokens, told_padding
from asterism.config import vet_params
from asterism.core.files.user_files import whole_path
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import validate
from asterism.core.parameters.registry import unknown
from asterism.core.settings.yaml_files import read_yaml
from asterism.data.given.reading import Arrays, GivenInputs
from asterism.dflare.comparisons import COMPARISONS
from asterism.dvc_hydra.overrides import hydra_text, hydra_value
from asterism.models.keras_models.preprocessing import PreprocessingParams
from asterism.vetting.changes import require_changes
from asterism.vetting.opening import drawn, read_given, rows_drawn
from asterism.vetting.params import VetBudget, VetParams

#: Inputs that the compressed model is tried on before anything runs.
_TRIED = 16


def settle(request: VetRequest, conf: Path) -> SettledQuestion:
    """The overrides of Hydra for a request, and what was settled, one line each.

    The original is asked about some of the inputs first: how its outputs are compared and how
    pictures are preprocessed follows from its answers.

    Args:
        request: the command line's.
        conf: the project's tree of configuration.

    Raises:
        UserError: a file cannot be read or opened, the two models take different inputs, an
            argument is impossible, or something is not known and has to be said by a flag.
    """
    return _Question(request, conf).settled()


@dataclass
class SettledQuestion:
    """What the question comes to.

    Attributes:
        overrides: of Hydra.
        said: a line for each thing that was settled.
        tries: how many preprocessings were tried.
        large: whether an input or the answers to it take so much memory that stages run one after
            the other.
        params: what the overrides lead to; None as long as something is open.
    """

    overrides: list[str]
    said: list[str]
    tries: int = 1
    large: bool = False
    params: VetParams | None = None

    def take(self, said: str, **values: Any) -> None:
        """Set parameters, whose names have two underscores for dots, and say why."""
        for name, value in values.items():
            self.overrides.append(f"vet.{name.replace('__', '.')}={hydra_value(value)}")
        self.said.append(said)


class _Question:
    """A request that is being settled."""

    def __init__(self, request: VetRequest, conf: Path) -> None:
        self._request, self._conf, self._given = request, conf, request.given
        self._signature, self._other = (one.signature for one in self._given.subjects)
        #: What the original answered, by what it was fed with.
        self._seen: dict[str, OriginalAnswers] = {}
        #: Parameters by the overrides that lead to them.
        self._composed: dict[tuple[str, ...], VetParams] = {}
        require_pair(request, self._signature, self._other)

    def settled(self) -> SettledQuestion:
        """See :func:`settle`."""
        request, models = self._request, self._given.subjects
        said = [f"{one.name}: {told_of(one.signature)}" for one in models]
        kind, told = kind_of_request(request, self._signature)
        found = SettledQuestion([f"vet={kind}"], [*said, told])
        for name, told_by in self._references().items():
            found.overrides.append(f"vet.{name}={hydra_text(told_by)}")
        self._settle_further_inputs(found)
        if request.comparison is not None:
            if request.comparison not in COMPARISONS:
                raise unknown("comparison", request.comparison, list(COMPARISONS))
            if request.comparison != "together":  # whose parts are told by the outputs
                choice = ComparisonChoice(request.comparison, "", request.options or {})
                found.overrides += _comparison(choice)
        params = self._params(found)
        given = read_given(params, self._signature, request.inputs)
        inputs = drawn(given, LOOKED, 0)
        if inputs.kind == "tokens":
            self._settle_tokens(found, inputs)
        if inputs.kind == "images":
            self._settle_pictures(found, params, inputs)
        params = self._params(found)
        seen = self._seen.get(params.feeding.model_dump_json())
        if seen is None:
            seen = look(models[0], params.feeding, inputs)
        require_answers(seen, models[0], inputs)
        self._settle_comparison(found, params, seen, scene_of(self._signature, inputs, seen))
        params = self._params(found)
        doubts = [
            require_right(request, params, given, seen, found.tries),
            copies(inputs),
            same_file(*models),
            unlike_calibration(params, self._signature, models[1], inputs),
        ]
        tried = drawn(inputs, _TRIED, 0)
        other = look(models[1], params.feeding.model_copy(update={"outputs": None}), tried)
        own = None  # the original's answers to these
        if seen.inputs == len(inputs.items) and not seen.silent:
            own = seen.to(rows_drawn(len(inputs.items), _TRIED, 0))
        self._settle_matching(found, params, seen, own, other, tried)
        params = self._params(found)
        sides = (self._signature, seen.outputs), (self._other, other.outputs)
        require_alike(request, params, *sides)
        if own is not None:
            doubts.append(self._other_preprocessing(params, tried, own))
        found.said += [doubt for doubt in doubts if doubt]
        changing = require_changes(params, inputs.items)
        found.overrides.append(f"vet.asked={hydra_value(request.words())}")
        found.overrides.append(f"vet.settled={hydra_value(found.said[2:])}")
        found.said += given.notes
        self._settle_budget(found, params, given, seen, other, changing)
        found.params = self._params(found)
        found.overrides += request.overrides
        return found

    def _references(self) -> dict[str, str]:
        """What parameters call the pair's files; objects have names there."""
        request, given = self._request, self._given
        found = {"original": given.original.reference, "compressed": given.compressed.reference}
        objects = isinstance(given.inputs, Arrays) or None in (s.path for s in given.subjects)
        found["inputs"] = (
            "arrays" if isinstance(given.inputs, Arrays) else str(whole_path(given.inputs))
        )
        if request.labels is not None:
            found["labels"] = str(whole_path(request.labels))
        return found | ({"source": "objects"} if objects else {})

    def _settle_further_inputs(self, found: SettledQuestion) -> None:
        told = told_inputs(self._request.constants)
        roles = following_roles(self._signature, self._other, told)
        for name, role in roles.items():
            found.said.append(
                f"the compressed model's {name} is the {role}, which the original has in that form "
                f"(another: --constant {name}=…)"
            )
        if told or roles:
            values = [{"input": name, "value": value} for name, value in {**told, **roles}.items()]
            found.overrides.append(f"vet.feeding.constants={hydra_value(values)}")

    def _settle_budget(
        self,
        found: SettledQuestion,
        params: VetParams,
        inputs: GivenInputs,
        seen: OriginalAnswers,
        other: OriginalAnswers,
        changing: float,
    ) -> None:
        minutes = self._request.minutes or MINUTES
        answer = compared(params, seen.outputs)[1].shape[1]
        cost = Cost(seen.seconds + other.seconds, inputs.items[0].nbytes, answer, changing)
        found.large = cost.large
        if (earlier := earlier_run(self._request, params)) is not None:
            if earlier.budget is None:
                return
            minutes += earlier.budget.minutes
            # The faster of both paces, so that counts never become smaller.
            cost = replace(
                cost,
                seconds=min(cost.seconds, earlier.budget.seconds),
                changing=min(cost.changing, earlier.budget.changing),
            )
        smaller, told = within(
            minutes,
            params,
            len(inputs.items),
            cost,
            lambda name: not self._request.settles(name),
            resumes=self._request.earlier is not None,
        )
        if smaller:
            budget = VetBudget(
                minutes=minutes, seconds=cost.seconds, changing=cost.changing, left_out=told
            )
            found.take(told, **smaller, budget=budget.model_dump())

    def _params(self, found: SettledQuestion) -> VetParams:
        """The parameters so far."""
        overrides = (*found.overrides, *self._request.overrides)
        if overrides not in self._composed:
            self._composed[overrides] = vet_params(self._conf, overrides)
        return self._composed[overrides]

    def _settle_tokens(self, found: SettledQuestion, inputs: GivenInputs) -> None:
        items, rows = inputs.items, self._signature.given[0].rows
        if not self._request.settles("vet.feeding.pad"):
            pad, told = told_padding(items)
            found.take(told, feeding__pad=pad)
        else:
            pad = int(self._params(found).feeding.pad)
        found.overrides.append(f"vet.domain.options.padding={max(pad, 0)}")
        if self._request.settles("vet.domain.options.vocabulary"):
            return
        if not rows:
            rows = max(2, int(items.max()) + 1)
            told = f"tokens are below {rows}, the largest that is given; the file tells none"
        else:
            told = f"tokens are below {rows}, the rows of the table that they index"
        protected = special_tokens(items, pad)
        found.take(told, domain__options__vocabulary=rows, domain__options__protected=protected)

    def _settle_pictures(
        self, found: SettledQuestion, params: VetParams, inputs: GivenInputs
    ) -> None:
        request, spec = self._request, self._signature.given[0]
        if request.settles("vet.feeding.preprocessing"):
            return
        named = self._preprocessings()
        if request.preprocessing is not None:
            if request.preprocessing not in named:
                raise unknown("preprocessing", request.preprocessing, list(named))
            self._take_preprocessing(found, named, request.preprocessing, "rgb", "as was asked")
            return
        if spec.dtype == "uint8":
            found.said.append("no preprocessing: the model takes bytes (another: --preprocessing)")
            return
        known = _of_channels(named, channels := inputs.items.shape[-1])
        quantised = [signature.given[0] for signature in (self._signature, self._other)]
        ranges = (of_range(one, known, inputs.items) for one in quantised)
        kept = next((name for name in ranges if name is not None), None)
        if kept is not None and inputs.labels is None:
            why = "its numbers fill the range that the quantised input keeps"
            self._take_preprocessing(found, named, kept, "rgb", why)
            return
        with OriginalProbe(self._given.original, params.feeding, inputs) as original:

            def ask(
                preprocessing: PreprocessingParams, order: str
            ) -> tuple[Sequence[Output], OutputContext]:
                changed = {"preprocessing": preprocessing, "channels": order}
                feeding = params.feeding.model_copy(update=changed)
                seen = self._seen[feeding.model_dump_json()] = original.look(feeding)
                scene = scene_of(self._signature, inputs, seen)
                return () if seen.mute else seen.outputs, scene

            colours = channels == 3 and inputs.labels is not None
            stated = params.comparison.kind if request.settles("vet.comparison") else None
            tried = try_preprocessing(known, colours, ask, request.comparison or stated)

        chosen, why = best(tried, kept)
        found.tries = len(tried)
        found.overrides.append(f"vet.tried={hydra_value([one.recorded() for one in tried])}")
        self._take_preprocessing(found, named, chosen.name, chosen.channels, why)

    def _preprocessings(self) -> dict[str, Any]:
        """The project's preprocessings by name, as their files have them."""
        folder = self._conf / "preprocessing"
        return {path.stem: read_yaml(path) for path in sorted(folder.glob("*.yaml"))}

    def _other_preprocessing(
        self, params: VetParams, tried: GivenInputs, own: OriginalAnswers
    ) -> str:
        """See :func:`other_preprocessing`; nothing where no pictures are preprocessed."""
        if tried.kind != "images" or params.feeding.preprocessing is None:
            return ""
        known = _of_channels(self._preprocessings(), tried.items.shape[-1])
        return other_preprocessing(self._given.compressed, params, known, tried, own)

    def _take_preprocessing(
        self, found: SettledQuestion, named: Mapping[str, Any], name: str, channels: str, why: str
    ) -> None:
        order = "" if channels == "rgb" else f", channels {channels}"
        found.take(
            f"preprocessing {name}{order}: {why} (another: --preprocessing)",
            feeding__preprocessing=named[name],
            feeding__channels=channels,
        )

    def _settle_comparison(
        self, found: SettledQuestion, params: VetParams, seen: OriginalAnswers, scene: OutputContext
    ) -> None:
        request, settled = self._request, self._request.settles("vet.comparison")
        if settled and request.comparison is None:
            return
        try:
            names, choice = choose_all(seen.outputs, scene, request.comparison)
        except UserError:
            if settled:  # with other options it may fit
                return
            raise
        if request.options is not None:
            choice = replace(choice, options=request.options)
        if not settled:
            found.overrides += _comparison(choice)
        told = "as was asked" if request.comparison else f"{choice.why} (another: --comparison)"
        found.said.append(f"outputs are compared by {choice.kind}: {told}")
        usual = [o.name for o in seen.outputs if not o.integer] or [o.name for o in seen.outputs]
        if params.feeding.outputs is None and names != usual:
            found.take(f"compared are the outputs {', '.join(names)}", feeding__outputs=list(names))

    def _settle_matching(
        self,
        found: SettledQuestion,
        params: VetParams,
        seen: OriginalAnswers,
        own: OriginalAnswers | None,
        other: OriginalAnswers,
        tried: GivenInputs,
    ) -> None:
        """Find which of the compressed model's outputs belong to the original's.

        Args:
            found, params, seen: see :meth:`settled`.
            own: the original's answers to ``tried``; None where it has to be asked.
            other: the compressed model's answers to them.
            tried: some of the inputs.
        """
        names = compared_names(params, seen.outputs)
        chosen = params.feeding.outputs is not None
        if self._request.settles("vet.matching") or told_by_names(names, chosen, other.outputs):
            return
        own = own or look(self._given.original, params.feeding, tried)
        matching = matching_outputs(
            str(self._request.compressed), names, chosen, own.outputs, other.outputs
        )
        if matching:
            pairs = ", ".join(f"{theirs} for {mine}" for mine, theirs in matching.items())
            found.take(
                f"the compressed model's outputs by sizes and values: {pairs} (others: "
                "-S vet.matching)",
                matching=[{"original": a, "compressed": b} for a, b in matching.items()],
            )


def _of_channels(named: Mapping[str, Any], channels: int) -> dict[str, PreprocessingParams]:
    """Preprocessings of pictures with so many channels, by name."""
    known = {name: validate(PreprocessingParams, values) for name, values in named.items()}
    return {name: one for name, one in known.items() if len(one.mean) in (1, channels)}


def _comparison(choice: ComparisonChoice) -> list[str]:
    """Overrides that choose a comparison; those of the configuration are another one's."""
    return [
        f"vet.comparison.kind={choice.kind}",
        "~vet.comparison.options",
        f"+vet.comparison.options={hydra_value(dict(choice.options))}",
    ]
