"""Turning an item into a model's named inputs: the main input, masks, constants, carried states."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import Distinct, ParameterSection
from asterism.models.formats import Tensors
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.signatures.signature import ROLES, Signature, TensorSpec, infer_role

#: The padding of texts of which none is filled up: no token is this.
NO_PADDING = -1
#: The largest size and token, as models count them in 32 bits.
_MOST = 2**31 - 1


class FurtherInput(ParameterSection):
    """What an input beside the main one gets."""

    input: str = Field(description="the input's name in the model's file")
    value: float | Literal["mask", "segment", "position", "length"] = Field(
        description="what it gets: a number in each place of its shape, or what it is to the tokens"
    )


class FeedingParams(ParameterSection):
    """What is given to a model beside an item itself.

    Whatever is null is told by the model's file.
    """

    input: str | None = Field(description="the input that takes the item; null: the first")
    outputs: Distinct[str] | None = Field(
        description="the outputs that are compared; null: all of real numbers"
    )
    constants: list[FurtherInput] = Field(
        description="values of further inputs; of a pair one model may have them alone"
    )
    step: int | None = Field(
        ge=1,
        le=_MOST,
        description="of a streaming model: numbers of an item's first axis in one call",
    )
    context: int = Field(
        ge=0,
        le=_MOST,
        description="of a streaming model: numbers of the call before that come along",
    )
    pad: int = Field(ge=-_MOST, le=_MOST, description="the token that stands behind an item's end")
    preprocessing: PreprocessingParams | None = Field(
        description="of images: from uint8 to the model's input; null: by the main input's type"
    )
    channels: Literal["rgb", "bgr"] = Field(
        default="rgb", description="of images: the order in which the model takes colours"
    )

    @classmethod
    def of_images(cls, preprocessing: PreprocessingParams, output: str) -> Self:
        """What a classifier of images gets: images, preprocessed, and nothing else.

        Args:
            preprocessing: what happens to the uint8 images first.
            output: the output that holds the scores.
        """
        return cls(
            input=None,
            outputs=[output],
            constants=[],
            step=None,
            context=0,
            pad=0,
            preprocessing=preprocessing,
        )


class Feed:
    """Makes a model's inputs of items.

    Args:
        signature: the model's.
        params: what to give.
        images: whether items are images uint8 ``(H, W, C)``.

    Attributes:
        main: the input that takes the item.
        channels_first: whether the items are images, and the model takes their channels first.
        notes: what was settled without being told, for the reader of results.

    Raises:
        UserError: an input is left without a value.
    """

    def __init__(self, signature: Signature, params: FeedingParams, images: bool) -> None:
        self.notes: list[str] = []
        self._params, self._images = params, images
        self._constants = {constant.input: constant.value for constant in params.constants}
        self._states, self._caches = dict(signature.states), signature.caches
        given = {spec.name: spec for spec in signature.given}
        self.main = _chosen(given, params.input, self._constants)
        self._others = [spec for name, spec in given.items() if name != self.main.name]
        self._initial = [spec for spec in signature.inputs if spec.name in self._states]
        for spec in self._others:
            if self._role(spec) is None:
                raise UserError(_without_value(spec, self.main))
        self.channels_first = bool(images) and _channels_first(self.main)

    def inputs(self, items: NDArray[Any], past: NDArray[Any] | None = None) -> Tensors:
        """The inputs of one call, without carried states.

        Args:
            items: ``(n, ...)``.
            past: what a decoder's cache holds of the calls before, ``(n, length)``; None where
                there is no cache.
        """
        values = {self.main.name: self._main_input(items)}
        for spec in self._others:
            role = self._role(spec)
            assert role is not None
            value = self._derived(role, spec, items, past)
            values[spec.name] = value.astype(spec.dtype)
        return values

    def calls(self, items: NDArray[Any]) -> list[Tensors]:
        """The inputs of each call of a streaming model, without carried states.

        Args:
            items: ``(n, length, ...)``.

        Raises:
            UserError: the items are shorter than one call, or it is not known how long one is.
        """
        if self._caches:
            return self._decoder_calls(items)
        step, context = self._step(), self._params.context
        if items.shape[1] < step:
            raise UserError(f"it takes {step} numbers a call, but items have {items.shape[1]}")
        before = np.zeros((len(items), context, *items.shape[2:]), items.dtype)
        padded = np.concatenate([before, items], axis=1)
        starts = range(0, items.shape[1] - step + 1, step)
        return [self.inputs(padded[:, start : start + context + step]) for start in starts]

    def _decoder_calls(self, items: NDArray[Any]) -> list[Tensors]:
        """The calls of a decoder: a token each, where the file leaves it free."""
        step = self._params.step or (self.main.shape[1] if len(self.main.shape) > 1 else 1) or 1
        return [
            self.inputs(items[:, start : start + step], items[:, :start])
            for start in range(0, items.shape[1] - step + 1, step)
        ]

    def first_states(self, count: int) -> Tensors:
        """The states before an item's first step: zeros, and caches that hold nothing."""
        found = {}
        for spec in self._initial:
            shape = list(_with_batch(spec.shape, count))
            if spec.name in self._caches:
                shape[self._caches[spec.name]] = 0
            found[spec.name] = np.zeros(shape, spec.dtype)
        return found

    def next_states(self, outputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """The states before the next step, from a step's outputs."""
        return {given: outputs[answer] for given, answer in self._states.items()}

    def _step(self) -> int:
        if self._params.step is not None:
            return self._params.step
        size = self.main.shape[1] if len(self.main.shape) > 1 else None
        if size is None:
            raise UserError(
                "it is a streaming model that takes any number of samples a call: set step, and "
                "context where the call before comes along"
            )
        return size - self._params.context

    def _role(self, spec: TensorSpec) -> str | None:
        value = self._constants.get(spec.name)
        if value is None:
            return infer_role(spec.name)
        return value if isinstance(value, str) else "constant"

    def _derived(
        self, role: str, spec: TensorSpec, items: NDArray[Any], past: NDArray[Any] | None
    ) -> NDArray[Any]:
        if role == "constant":
            return np.full(self._fitting(spec, items), self._constants[spec.name])
        if role == "segment":
            return np.zeros_like(items)
        if role == "position":
            first = 0 if past is None else past.shape[1]
            places = np.arange(first, first + items.shape[1])
            return places if len(spec.shape) == 1 else np.broadcast_to(places, items.shape)
        if past is not None and not (spec.dims and spec.dims[-1:] == self.main.dims[1:2] != ("",)):
            items = np.concatenate([past, items], axis=1)
        there: NDArray[np.bool_] = items != self._params.pad
        return there if role == "mask" else np.asarray(there.sum(axis=1))

    def _fitting(self, spec: TensorSpec, items: NDArray[Any]) -> tuple[int, ...]:
        """The shape of another input: sizes that are called as the main input's are its sizes."""
        own = {} if self._images else dict(zip(self.main.dims, items.shape, strict=False))
        sizes = (
            own.get(name) if size is None and name else size
            for size, name in zip(spec.shape, spec.dims or ("",) * len(spec.shape), strict=True)
        )
        return _with_batch(tuple(sizes), len(items))

    def _main_input(self, items: NDArray[Any]) -> NDArray[Any]:
        values: NDArray[Any] = items
        if self._images and self._params.channels == "bgr":
            values = values[..., ::-1]
        if self._images and self._params.preprocessing is not None:
            values = self._params.preprocessing.apply(values)
        if self.channels_first:
            values = values.transpose(0, 3, 1, 2)
        values = _one_hot(values, self.main)
        values = _with_axes(values, self.main)
        return np.ascontiguousarray(_as_stored(values, self.main))


def _without_value(spec: TensorSpec, main: TensorSpec) -> str:
    """What to do about a further input of which nothing is known."""
    told = f"the input {spec} has no value: give it a number (--constant {spec.name}=1)"
    if main.are_tokens:
        roles = ", ".join(ROLES)
        return f"{told}, or say what it is to the tokens ({roles}: --constant {spec.name}=mask)"
    return f"{told}; files whose items consist of several inputs are no pair that can be vetted"


def _chosen(
    given: Mapping[str, TensorSpec], name: str | None, further: Container[str]
) -> TensorSpec:
    """The main input: the named one, else the first, unless only its place makes it the first."""
    if not given:
        raise UserError("the model's only inputs are states that it carries itself")
    if name is not None:
        if name not in given:
            raise UserError(f"the model has no input {name} (it has {', '.join(given)})")
        return given[name]
    first, *_ = given.values()
    if first.rows:
        return first
    return next((spec for spec in given.values() if spec.name not in further), first)


def _channels_first(spec: TensorSpec) -> bool:
    return len(spec.shape) == 4 and spec.shape[-1] not in (1, 3) and spec.shape[1] in (1, 3, None)


def _takes_one_hot(items: NDArray[Any], spec: TensorSpec) -> bool:
    """Whether items are tokens, and the model takes a row of real numbers for each."""
    floats = np.dtype(spec.dtype).kind == "f" and len(spec.shape) == items.ndim + 1
    return floats and items.dtype.kind in "iu" and (spec.shape[-1] or 1) > 1


def _one_hot(values: NDArray[Any], spec: TensorSpec) -> NDArray[Any]:
    """Tokens as rows with a one at the token's place where the model takes such rows.

    A token that is no place of a row, such as padding, becomes zeros.
    """
    if not _takes_one_hot(values, spec):
        return values
    places = np.arange(spec.shape[-1] or 1)
    rows: NDArray[Any] = (values[..., np.newaxis] == places).astype(spec.dtype)
    return rows


def _with_axes(values: NDArray[Any], spec: TensorSpec) -> NDArray[Any]:
    """Values with an axis of length 1 where the model has one more than the items."""
    if len(spec.shape) == values.ndim + 1:
        axis = 1 if spec.shape[1] == 1 else -1
        return np.expand_dims(values, axis)
    return values


def _as_stored(values: NDArray[Any], spec: TensorSpec) -> NDArray[Any]:
    """Values in the type of numbers that an input takes; real ones are quantised for integers."""
    dtype = np.dtype(spec.dtype)
    if spec.scale and dtype.kind in "iu" and values.dtype.kind == "f":
        limits = np.iinfo(dtype)
        levels = np.rint(values / np.float32(spec.scale)) + spec.zero
        values = np.clip(levels, limits.min, limits.max)
    stored: NDArray[Any] = values.astype(dtype, copy=False)
    return stored


def _with_batch(shape: tuple[int | None, ...], count: int) -> tuple[int, ...]:
    """A shape whose first free axis is the batch; without one, as it is."""
    sizes, free = list(shape), [place for place, size in enumerate(shape) if size is None]
    for place in free:
        sizes[place] = count if place == free[0] else 1
    return tuple(int(size or 1) for size in sizes)
