"""Signature: the named inputs and outputs of a model file, and the state that it carries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

#: Words in names of inputs and outputs that say at which end of a step a state is.
_ENDS = re.compile(r"(?:^|_)(?:in|input|out|output|next|new|prev|old)(?=_|$)|n$|_(?=$)")

#: What caches of decoders are called, before a step and after it.
_CACHE = re.compile(r"(?:^|_)(?:past|present)(?:_key_values?)?(?=_|$)")

#: Parts of names that say what an input tells of the tokens: which are there, of which segment they
#: are, where they stand, how many there are.
_ROLES = {
    "mask": ("mask",),
    "segment": ("token_type", "segment"),
    "position": ("position",),
    "length": ("length", "lens"),
}

#: What an input may be to the tokens.
ROLES = tuple(_ROLES)
#: A table with more rows than this is of tokens, not of segments.
SEGMENTS = 2


@dataclass(frozen=True)
class TensorSpec:
    """A named input or output.

    Attributes:
        name: as the file has it.
        dtype: of its numbers, NumPy's name (``float32``, ``int64``); as the file has it otherwise.
        shape: its axes; None where the size is free.
        scale, zero: for integers that stand for real numbers: the real number is
            ``(integer - zero) * scale``. 0 and 0 where they do not.
        made_by: of an output, the operator that computes it, in small letters (``softmax``,
            ``sigmoid``); empty where the file does not tell.
        rows: of an input of integers, the rows of the table that they index (its vocabulary); 0
            where the file does not tell.
        calibrated: of an input of real numbers that the file quantises first, the range that it
            keeps; None where it does not.
        step: of an output of real numbers that are dequantised last, the distance of neighbouring
            values; 0 where the file does not tell.
        dims: what the file calls each axis (``batch``, ``past + 1``), empty where it is not called
            anything; without any of all where the file's format has no such names.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...]
    scale: float = 0.0
    zero: int = 0
    made_by: str = ""
    rows: int = 0
    calibrated: tuple[float, float] | None = None
    step: float = field(default=0.0, compare=False)
    dims: tuple[str, ...] = field(default=(), compare=False)

    @property
    def are_tokens(self) -> bool:
        """Whether it has the form of texts: integers in rows."""
        return len(self.shape) == 2 and self.dtype in ("int32", "int64")

    def __str__(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name} {self.dtype} ({sizes})"


@dataclass(frozen=True)
class Signature:
    """What a model file takes and gives.

    Attributes:
        format: the file's format: ``onnx``, ``tflite``, ``keras`` or ``torch``; ``function`` of
            an object.
        inputs: in the file's order.
        outputs: in the file's order.
        states: pairs of an input and the output that is its value in the next step: what a
            streaming model carries from call to call.
        operators: how many operators (layers, for Keras) it consists of.
        quantised: how many of them compute on integers, or convert from or to them.
        half: whether weights are half-precision numbers.
        variables: whether it keeps state inside itself, between calls.
        recurrent: whether it has a recurrent layer, in formats whose recurrent layers are profiled.
    """

    format: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    states: tuple[tuple[str, str], ...] = ()
    operators: int = 0
    quantised: int = 0
    half: bool = False
    variables: bool = False
    recurrent: bool = False

    @property
    def streams(self) -> bool:
        """Whether a call's answer depends on earlier calls."""
        return bool(self.states) or self.variables

    @property
    def caches(self) -> dict[str, int]:
        """Carried states that grow with each call, by name, with the axis along which they do."""
        answers = {spec.name: spec for spec in self.outputs}
        carried, main = dict(self.states), next(iter(self.given), None)
        axes = {
            spec.name: growing_axis(spec, answers[carried[spec.name]], main)
            for spec in self.inputs
            if spec.name in carried
        }
        return {name: axis for name, axis in axes.items() if axis is not None}

    @property
    def given(self) -> tuple[TensorSpec, ...]:
        """The inputs that are no carried state, the main one first.

        The main input is the first of the file, unless masks and similar inputs are listed before
        the tokens; they are known by their names, or because they index no table.
        """
        carried = {name for name, _ in self.states}
        given = [spec for spec in self.inputs if spec.name not in carried]
        tokens = [spec for spec in given if infer_role(spec.name) is None and spec.are_tokens]
        if tokens and (given[0] in tokens or infer_role(given[0].name) is not None):
            main = next((spec for spec in tokens if spec.rows > SEGMENTS), tokens[0])
            given.sort(key=lambda spec: spec != main)
        return tuple(given)

    @property
    def answers(self) -> tuple[TensorSpec, ...]:
        """The outputs that are no carried state."""
        carried = {name for _, name in self.states}
        return tuple(spec for spec in self.outputs if spec.name not in carried)


def infer_role(name: str) -> str | None:
    """How an input follows from the main one, as its name tells; None where it tells nothing."""
    plain = name.lower()
    named = (role for role, words in _ROLES.items() if any(word in plain for word in words))
    return next(named, None)


def range_of(scale: float, zero: int, dtype: str) -> tuple[float, float] | None:
    """The real numbers that integers of a type stand for; None of other types."""
    if dtype not in ("int8", "uint8", "int16", "uint16"):
        return None
    limits = np.iinfo(dtype)
    return (int(limits.min) - zero) * scale, (int(limits.max) - zero) * scale


def matching_states(
    inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> tuple[tuple[str, str], ...]:
    """Inputs and outputs that are the same state, before a step and after it.

    They have one dtype and fitting shapes, and their names are one name with ``in`` and ``out``,
    ``next``, ``new`` or ``n`` taken away (``h`` and ``hn``, ``state_in`` and ``state_out``), or one
    is called ``past`` and the other ``present`` (``past_key_values.0.key``, ``present.0.key``).
    At least one input and one output remain.
    """
    answers: dict[str, list[TensorSpec]] = {}
    for answer in outputs:
        answers.setdefault(_stem(answer.name), []).append(answer)
    answers.pop("", None)
    pairs: list[tuple[str, str]] = []
    for given in inputs:
        left = answers.get(_stem(given.name), [])
        fitting = next((answer for answer in left if _same_form(given, answer)), None)
        if fitting is not None:
            pairs.append((given.name, fitting.name))
            left[:] = [answer for answer in left if answer.name != fitting.name]
    if len(pairs) >= min(len(inputs), len(outputs)):
        return ()
    return tuple(pairs)


def growing_axis(given: TensorSpec, answer: TensorSpec, main: TensorSpec | None) -> int | None:
    """The axis along which a state grows with each call, as the caches of decoders do.

    Args:
        given: the state before a call.
        answer: after it.
        main: the model's main input, whose first axis is the batch.

    Returns:
        None where it keeps its size.
    """
    if not _CACHE.search(_plain(given.name)):
        return None
    free = [axis for axis, size in enumerate(given.shape) if size is None]
    if given.dims and answer.dims:
        batch = main.dims[0] if main is not None and main.dims else ""
        kept = {axis for axis in free if given.dims[axis] in {answer.dims[axis], batch} - {""}}
        free = [axis for axis in free if axis not in kept]
        named = [axis for axis in free if given.dims[axis]]
        free = named or free
    later = [axis for axis in free if axis > 0]
    return later[-1] if later else None


def _same_form(given: TensorSpec, answer: TensorSpec) -> bool:
    fit = len(given.shape) == len(answer.shape) and all(
        None in sizes or sizes[0] == sizes[1]
        for sizes in zip(given.shape, answer.shape, strict=True)
    )
    return given.dtype == answer.dtype and fit


def _stem(name: str) -> str:
    plain = _CACHE.sub("_cache", _plain(name))
    return _ENDS.sub("", _ENDS.sub("", plain)).strip("_")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.rpartition(":")[0].lower() or name.lower())


#: A fixed axis of so many real numbers, or more, beside axes of 1 is taken for sound.
_SOUND = 4000


def kind_of_inputs(signature: Signature) -> tuple[str, str]:
    """The kind of a model's main input, and what tells it.

    Kinds are those of :data:`asterism.data.kinds.INPUT_KINDS`.
    """
    if not signature.given:
        return "tensors", "it has no input but its own state"
    spec = signature.given[0]
    sizes, name = spec.shape[1:], spec.name.lower()
    if len(spec.shape) == 4 and (sizes[0] in (1, 3) or sizes[-1] in (1, 3)):
        return "images", f"{spec.name} has four axes, one of 1 or 3 channels"
    if _is_integer(spec) and len(spec.shape) == 2:
        if "byte" in name or spec.dtype == "uint8":
            return "bytes", f"{spec.name} is of the type or the name of bytes"
        return "tokens", f"{spec.name} takes rows of integers"
    longest = max((size for size in sizes if size is not None), default=0)
    alone = sum(size != 1 for size in sizes) <= 1
    if alone and (longest >= _SOUND or any(word in name for word in ("audio", "wave", "sound"))):
        return "sound", f"{spec.name} takes one long row of real numbers"
    return "tensors", f"{spec.name} takes real numbers of {len(sizes)} axes"


def _is_integer(spec: TensorSpec) -> bool:
    try:
        return np.dtype(spec.dtype).kind in "iu" and not spec.scale
    except TypeError:
        return False
