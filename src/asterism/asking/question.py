"""The settled question about a pair as overrides of Hydra, and the report of each decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from asterism.asking.budget import MINUTES, InputCost, fit_counts_to_budget, read_earlier_parameters
from asterism.asking.compared_outputs import (
    are_matched_by_name,
    choose_compared_names,
    match_outputs,
    require_comparable_outputs,
    select_compared_rows,
)
from asterism.asking.doubts import (
    check_calibration,
    check_duplicate_inputs,
    check_preprocessing,
    check_same_file,
    require_better_than_chance,
)
from asterism.asking.original import (
    LOOKED,
    OriginalAnswers,
    OriginalProbe,
    ask_model,
    build_output_context,
    require_answers,
)
from asterism.asking.output_comparison import choose_comparisons
from asterism.asking.outputs import ComparisonChoice, Output, OutputContext
from asterism.asking.preprocessing import (
    choose_preprocessing,
    find_preprocessing_by_range,
    try_preprocessing,
)
from asterism.asking.request import (
    VetRequest,
    describe_signature,
    find_special_tokens,
    infer_roles,
    parse_further_inputs,
    require_pair,
    resolve_kind,
    resolve_padding,
)
from asterism.config import compose_vet_params
from asterism.core.files.user_files import absolute_path
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import validate
from asterism.core.parameters.registry import unknown
from asterism.core.settings.yaml_files import read_yaml
from asterism.data.given import ArrayInputs, GivenInputs
from asterism.dflare.comparisons import COMPARISONS
from asterism.dvc_hydra.overrides import hydra_text, hydra_value
from asterism.models.images_and_scores import PreprocessingParams
from asterism.vetting.measurement import require_changes
from asterism.vetting.opening import draw_inputs, draw_positions, read_given
from asterism.vetting.params import VetBudget, VetParams

#: Inputs that the compressed model is tried on before anything runs.
_TRIED = 16


def resolve_question(request: VetRequest, conf: Path) -> ResolvedQuestion:
    """The overrides of Hydra for a request, and one line for each fact that was settled.

    The original is asked about some of the inputs first: how its outputs are compared and how
    pictures are preprocessed follows from its answers.

    Args:
        request: the command line's.
        conf: the project's tree of configuration.

    Raises:
        UserError: a file cannot be read or opened, the two models take different inputs, an
            argument is impossible, or something is not known and has to be said by a flag.
    """
    return _Question(request, conf).resolve()


@dataclass(frozen=True)
class ResolvedQuestion:
    """A settled question: parameters, and what was assumed.

    Attributes:
        overrides: the overrides of Hydra.
        said: a line for each thing that was settled.
        large: whether an input or the answers to it take so much memory that stages run one after
            the other.
        params: what the overrides lead to.
    """

    overrides: list[str]
    said: list[str]
    large: bool
    params: VetParams


class _Question:
    """A request that is being settled."""

    def __init__(self, request: VetRequest, conf: Path) -> None:
        self._request, self._conf, self._given = request, conf, request.given
        self._signature, self._other = (subject.signature for subject in self._given.subjects)
        #: What is settled so far: overrides, beside the request's own, and a line for each.
        self._overrides: list[str] = []
        self._said: list[str] = []
        #: How many preprocessings were tried.
        self._tries = 1
        #: What the original answered, by what it was fed with.
        self._seen: dict[str, OriginalAnswers] = {}
        self._compose = cache(partial(compose_vet_params, conf))
        require_pair(request, self._signature, self._other)

    @property
    def _params(self) -> VetParams:
        """The parameters so far."""
        return self._compose((*self._overrides, *self._request.overrides))

    def _take(self, said: str, **values: Any) -> None:
        """Set parameters, whose names have two underscores for dots, and say why."""
        for name, value in values.items():
            self._overrides.append(f"vet.{name.replace('__', '.')}={hydra_value(value)}")
        self._said.append(said)

    def resolve(self) -> ResolvedQuestion:
        """See :func:`resolve_question`."""
        request, models = self._request, self._given.subjects
        files = [f"{model.name}: {describe_signature(model.signature)}" for model in models]
        kind, reason = resolve_kind(request, self._signature)
        self._overrides.append(f"vet={kind}")
        self._said += [*files, reason]
        for name, told_by in self._references().items():
            self._overrides.append(f"vet.{name}={hydra_text(told_by)}")
        self._settle_further_inputs()
        if request.comparison is not None:
            if request.comparison not in COMPARISONS:
                raise unknown("comparison", request.comparison, list(COMPARISONS))
            if request.comparison != "together":  # whose parts are told by the outputs
                choice = ComparisonChoice(request.comparison, "", request.options or {})
                self._overrides += _comparison(choice)
        inputs_of_all = read_given(self._params, self._signature, request.inputs)
        inputs = draw_inputs(inputs_of_all, LOOKED, 0)
        if inputs.kind == "tokens":
            self._settle_tokens(inputs)
        if inputs.kind == "images":
            self._settle_pictures(inputs)
        feeding = self._params.feeding
        seen = self._seen.get(feeding.model_dump_json()) or ask_model(models[0], feeding, inputs)
        require_answers(seen, models[0], inputs)
        self._settle_comparison(seen, build_output_context(self._signature, inputs, seen))
        doubts = [
            require_better_than_chance(request, self._params, inputs_of_all, seen, self._tries),
            check_duplicate_inputs(inputs),
            check_same_file(*models),
            check_calibration(self._params, self._signature, models[1], inputs),
        ]
        tried = draw_inputs(inputs, _TRIED, 0)
        feeding = self._params.feeding
        other = ask_model(models[1], feeding.model_copy(update={"outputs": None}), tried)
        own = None  # the original's answers to these
        if seen.inputs == len(inputs.items) and not seen.silent:
            own = seen.to(draw_positions(len(inputs.items), _TRIED, 0))
        self._settle_matching(seen, own, other, tried)
        sides = (self._signature, seen.outputs), (self._other, other.outputs)
        require_comparable_outputs(request, self._params, *sides)
        if own is not None:
            doubts.append(self._other_preprocessing(tried, own))
        self._said += [doubt for doubt in doubts if doubt]
        changing = require_changes(self._params, inputs.items)
        answer = select_compared_rows(self._params, seen.outputs)[1].shape[1]
        cost = InputCost(
            seen.seconds + other.seconds, inputs_of_all.items[0].nbytes, answer, changing
        )
        params = self._params
        self._overrides.append(f"vet.asked={hydra_value(request.words())}")
        self._overrides.append(f"vet.settled={hydra_value(self._said[len(files) :])}")
        self._said += inputs_of_all.notes
        self._settle_budget(params, len(inputs_of_all.items), cost)
        overrides = [*self._overrides, *request.overrides]
        return ResolvedQuestion(overrides, self._said, cost.large, self._params)

    def _references(self) -> dict[str, str]:
        """What parameters call the pair's files; objects have names there."""
        request, given = self._request, self._given
        found = {"original": given.original.reference, "compressed": given.compressed.reference}
        objects = isinstance(given.inputs, ArrayInputs) or None in (s.path for s in given.subjects)
        found["inputs"] = (
            "arrays" if isinstance(given.inputs, ArrayInputs) else str(absolute_path(given.inputs))
        )
        if request.labels is not None:
            found["labels"] = str(absolute_path(request.labels))
        return found | ({"source": "objects"} if objects else {})

    def _settle_further_inputs(self) -> None:
        further = parse_further_inputs(self._request.constants)
        roles = infer_roles(self._signature, self._other, further)
        for name, role in roles.items():
            self._said.append(
                f"the compressed model's {name} is the {role}, which the original has in that form "
                f"(another: --constant {name}=…)"
            )
        if further or roles:
            values = [
                {"input": name, "value": value} for name, value in {**further, **roles}.items()
            ]
            self._overrides.append(f"vet.feeding.constants={hydra_value(values)}")

    def _settle_budget(self, params: VetParams, inputs: int, cost: InputCost) -> None:
        """Cut the counts to what the minutes allow, those of an earlier run among them.

        Args:
            params: what is wanted.
            inputs: how many are given.
            cost: of an input.
        """
        minutes = self._request.minutes or MINUTES
        if (earlier := read_earlier_parameters(self._request, params)) is not None:
            if earlier.budget is None:
                return
            minutes += earlier.budget.minutes
            # The faster of both paces, so that counts never become smaller.
            cost = replace(
                cost,
                seconds=min(cost.seconds, earlier.budget.seconds),
                changing=min(cost.changing, earlier.budget.changing),
            )
        smaller, left_out = fit_counts_to_budget(
            minutes,
            params,
            inputs,
            cost,
            lambda name: not self._request.settles(name),
            resumes=self._request.earlier is not None,
        )
        if smaller:
            budget = VetBudget(
                minutes=minutes, seconds=cost.seconds, changing=cost.changing, left_out=left_out
            )
            self._take(left_out, **smaller, budget=budget.model_dump())

    def _settle_tokens(self, inputs: GivenInputs) -> None:
        items, rows = inputs.items, self._signature.given[0].rows
        if not self._request.settles("vet.feeding.pad"):
            pad, reason = resolve_padding(items)
            self._take(reason, feeding__pad=pad)
        else:
            pad = int(self._params.feeding.pad)
        self._overrides.append(f"vet.domain.options.padding={max(pad, 0)}")
        if self._request.settles("vet.domain.options.vocabulary"):
            return
        if not rows:
            rows = max(2, int(items.max()) + 1)
            reason = f"tokens are below {rows}, by the largest given one; the file has no limit"
        else:
            reason = f"tokens are below {rows}, the rows of the table that they index"
        protected = find_special_tokens(items, pad)
        self._take(reason, domain__options__vocabulary=rows, domain__options__protected=protected)

    def _settle_pictures(self, inputs: GivenInputs) -> None:
        request, spec, params = self._request, self._signature.given[0], self._params
        if request.settles("vet.feeding.preprocessing"):
            return
        named = self._preprocessings()
        if request.preprocessing is not None:
            if request.preprocessing not in named:
                raise unknown("preprocessing", request.preprocessing, list(named))
            self._take_preprocessing(named, request.preprocessing, "rgb", "as was asked")
            return
        if spec.dtype == "uint8":
            self._said.append("no preprocessing: the model takes bytes (another: --preprocessing)")
            return
        known = _of_channels(named, channels := inputs.items.shape[-1])
        quantised = [signature.given[0] for signature in (self._signature, self._other)]
        ranges = (find_preprocessing_by_range(one, known, inputs.items) for one in quantised)
        kept = next((name for name in ranges if name is not None), None)
        if kept is not None and inputs.labels is None:
            why = "its numbers fill the range that the quantised input keeps"
            self._take_preprocessing(named, kept, "rgb", why)
            return
        with OriginalProbe(self._given.original, params.feeding, inputs) as original:

            def ask(
                preprocessing: PreprocessingParams, order: str
            ) -> tuple[Sequence[Output], OutputContext]:
                changed = {"preprocessing": preprocessing, "channels": order}
                feeding = params.feeding.model_copy(update=changed)
                seen = self._seen[feeding.model_dump_json()] = original.look(feeding)
                scene = build_output_context(self._signature, inputs, seen)
                return () if seen.mute else seen.outputs, scene

            colours = channels == 3 and inputs.labels is not None
            stated = params.comparison.kind if request.settles("vet.comparison") else None
            tried = try_preprocessing(known, colours, ask, request.comparison or stated)

        chosen, why = choose_preprocessing(tried, kept)
        self._tries = len(tried)
        self._overrides.append(f"vet.tried={hydra_value([one.recorded() for one in tried])}")
        self._take_preprocessing(named, chosen.name, chosen.channels, why)

    def _preprocessings(self) -> dict[str, Any]:
        """The project's preprocessings by name, as their files have them."""
        folder = self._conf / "preprocessing"
        return {path.stem: read_yaml(path) for path in sorted(folder.glob("*.yaml"))}

    def _other_preprocessing(self, tried: GivenInputs, own: OriginalAnswers) -> str:
        """See :func:`check_preprocessing`; nothing where no pictures are preprocessed."""
        params = self._params
        if tried.kind != "images" or params.feeding.preprocessing is None:
            return ""
        known = _of_channels(self._preprocessings(), tried.items.shape[-1])
        return check_preprocessing(self._given.compressed, params, known, tried, own)

    def _take_preprocessing(
        self, named: Mapping[str, Any], name: str, channels: str, why: str
    ) -> None:
        order = "" if channels == "rgb" else f", channels {channels}"
        self._take(
            f"preprocessing {name}{order}: {why} (another: --preprocessing)",
            feeding__preprocessing=named[name],
            feeding__channels=channels,
        )

    def _settle_comparison(self, seen: OriginalAnswers, scene: OutputContext) -> None:
        request, settled = self._request, self._request.settles("vet.comparison")
        if settled and request.comparison is None:
            return
        all_real = self._params.feeding.outputs is None
        try:
            names, choice = choose_comparisons(seen.outputs, scene, request.comparison)
        except UserError:
            if settled:  # with other options it may fit
                return
            raise
        if request.options is not None:
            choice = replace(choice, options=request.options)
        if not settled:
            self._overrides += _comparison(choice)
        reason = "as was asked" if request.comparison else f"{choice.why} (another: --comparison)"
        self._said.append(f"outputs are compared by {choice.kind}: {reason}")
        usual = [o.name for o in seen.outputs if not o.integer] or [o.name for o in seen.outputs]
        if all_real and names != usual:
            self._take(f"compared are the outputs {', '.join(names)}", feeding__outputs=list(names))

    def _settle_matching(
        self,
        seen: OriginalAnswers,
        own: OriginalAnswers | None,
        other: OriginalAnswers,
        tried: GivenInputs,
    ) -> None:
        """Find which of the compressed model's outputs belong to the original's.

        Args:
            seen: what the original answers.
            own: the original's answers to ``tried``; None where it has to be asked.
            other: the compressed model's answers to them.
            tried: some of the inputs.
        """
        params = self._params
        names = choose_compared_names(params, seen.outputs)
        chosen = params.feeding.outputs is not None
        if self._request.settles("vet.matching") or are_matched_by_name(
            names, chosen, other.outputs
        ):
            return
        own = own or ask_model(self._given.original, params.feeding, tried)
        matching = match_outputs(
            str(self._request.compressed), names, chosen, own.outputs, other.outputs
        )
        if matching:
            pairs = ", ".join(f"{theirs} for {mine}" for mine, theirs in matching.items())
            self._take(
                f"the compressed model's outputs by sizes and values: {pairs} (others: "
                "-S vet.matching)",
                matching=[{"original": a, "compressed": b} for a, b in matching.items()],
            )


def _of_channels(named: Mapping[str, Any], channels: int) -> dict[str, PreprocessingParams]:
    """Preprocessings of pictures with so many channels, by name."""
    known = {name: validate(PreprocessingParams, values) for name, values in named.items()}
    return {name: p for name, p in known.items() if len(p.mean) in (1, channels)}


def _comparison(choice: ComparisonChoice) -> list[str]:
    """Overrides that choose a comparison; those of the configuration are another one's."""
    return [
        f"vet.comparison.kind={choice.kind}",
        "~vet.comparison.options",
        f"+vet.comparison.options={hydra_value(dict(choice.options))}",
    ]
