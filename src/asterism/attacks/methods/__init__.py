"""Attacks: what one is, and their parameters; each module beside holds one attack or a few.

Attacks work on images as pixels in [0, 1]; here is also how far a change of them goes, and random
changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from asterism.core.files.user_files import NO_FILE, File
from asterism.core.messages.console import get_logger
from asterism.core.parameters.construction import NoOptions, options_by_name
from asterism.core.parameters.params import Distinct, ParameterSection
from asterism.core.parameters.registry import Registry
from asterism.core.parameters.validation import Label, named
from asterism.core.random_streams import stream

log = get_logger(__name__)
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class AttackParams(ParameterSection):
    """Which inputs are added to the test set."""

    accepted_by: ClassVar[str | None] = "asterism.attacks.methods:attack_options"

    names: Distinct[Annotated[str, named("asterism.attacks.methods:ATTACKS")]] = Field(
        min_length=1, description="attacks by name, in the order of reports"
    )
    inputs: int = Field(
        ge=1, description="correctly handled test inputs that each attack starts from"
    )
    base_share: float = Field(
        gt=0, lt=1, description="share of the test inputs that is the test set; the rest is a pool"
    )
    batch: int = Field(ge=1, description="inputs attacked at once; results do not depend on it")
    rnn_inputs: int = Field(ge=1, description="inputs of the recurrent network to attack")
    options: dict[Label, dict[Label, Any]] = Field(
        description="what each attack takes by its name, see its Options"
    )
    semantic: Literal["none", "pool", "file"] = Field(
        description="natural inputs to add: the pool's most different ones, or your own"
    )
    semantic_path: File = Field(
        description="your own: an .npz with uint8 `images`; else conf/no_file"
    )

    @model_validator(mode="after")
    def _own_images_have_a_file(self) -> Self:
        if self.semantic == "file" and self.semantic_path == NO_FILE:
            raise ValueError("semantic is 'file': semantic_path has to name an .npz of your images")
        return self


@dataclass(frozen=True)
class AttackSeeds:
    """Inputs to start from.

    Attributes:
        images: float32 ``(N, H, W, C)``, pixels in [0, 1].
        labels: ``(N,)``, what to get away from: true classes, int64, or a regressor's outputs.
        sources: int64 ``(N,)``, positions in the test set, which name the random streams.
        seed: root of the random streams.
    """

    images: Floats
    labels: NDArray[Any]
    sources: Ints
    seed: int

    def part(self, start: int, stop: int) -> AttackSeeds:
        """A contiguous part."""
        here = slice(start, stop)
        return AttackSeeds(self.images[here], self.labels[here], self.sources[here], self.seed)


class Estimator(Protocol):
    """A model under attack, as all attacks see it; classifiers offer more."""

    def predict(self, x: Floats) -> Floats:
        """Outputs for pixels ``(N, H, W, C)`` in [0, 1]."""

    def aim(self, victims: AttackSeeds) -> Floats:
        """What a loss compares the outputs with."""

    def loss_gradient(self, x: Floats, y: Floats) -> Floats:
        """Gradient of the loss of each input, of the inputs' shape."""


class PixelNetwork(Protocol):
    """A network's outputs for pixels, and their gradients, in any library.

    Attributes:
        shape: of one input, ``(H, W, C)`` or that of a sequence.
        width: K, the number of outputs.
    """

    shape: tuple[int, ...]
    width: int

    def outputs(self, pixels: Floats) -> Floats:
        """Outputs ``(N, K)``, logits of a classifier, for pixels ``(N, *shape)`` in [0, 1]."""

    def gradient(self, pixels: Floats, weigh: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        """Outputs ``(N, K)``, and the gradient of their weighted sum, of the pixels' shape.

        Args:
            pixels: see :meth:`outputs`.
            weigh: gives the weights ``(N, K)`` of outputs. Where these are the derivatives of a
                loss, what comes out is the loss's gradient.
        """

    def loss_gradient(self, pixels: Floats, targets: Floats) -> Floats:
        """Gradient of the cross-entropy of logits and targets ``(N, K)``, of the pixels' shape.

        It is the library's own, since the sign of a gradient of a confident network depends on the
        last bits.
        """


class Attack(ABC):
    """Changes inputs, each for itself: an input's result does not depend on its batch.

    Args:
        options: the attack's own.
        inputs: how many inputs are to be attacked; it may start from fewer.
        batch: how many at once.
    """

    #: The options that this attack takes.
    Options: ClassVar[type[ParameterSection]] = NoOptions
    #: Whether it needs a classifier to attack; others work on regressors too.
    needs_classifier: ClassVar[bool] = True
    #: Whether it works through time too, on recurrent networks: where a few gradients of the loss
    #: are all that it asks for.
    through_time: ClassVar[bool] = False

    def __init__(self, options: Any, inputs: int, batch: int) -> None:
        self.options = options
        self.inputs = inputs
        self.batch = batch

    @abstractmethod
    def perturb(self, estimator: Any, victims: AttackSeeds) -> Floats:
        """Changed inputs, float32 of the victims' shape; the caller clips them to [0, 1].

        Args:
            estimator: an :class:`Estimator`, that of a classifier where one is needed.
            victims: inputs to start from.
        """


ATTACKS: Registry[type[Attack]] = Registry("attack", "asterism.attacks.methods")


def attack_options(params: AttackParams) -> dict[str, ParameterSection]:
    """The options of the chosen attacks, and of the others that have any given, by name.

    Raises:
        UserError: no such attack, or the options are none of its.
    """
    return options_by_name(ATTACKS, params.options, params.names)


def build_attacks(params: AttackParams) -> dict[str, Attack]:
    """The chosen attacks by name, in the order of ``params.names``.

    Raises:
        UserError: see :func:`attack_options`.
    """
    options, shared = attack_options(params), (params.inputs, params.batch)
    return {name: ATTACKS[name](options[name], *shared) for name in params.names}


def build_suitable_attacks(
    params: AttackParams, suits: Callable[[Attack], bool], unfit: str
) -> dict[str, Attack]:
    """Those of the chosen attacks that suit a model; the log says which are left out.

    Args:
        params: which attacks are chosen.
        suits: whether the model can be attacked with one.
        unfit: why it cannot with the others, for the log.

    Raises:
        UserError: see :func:`attack_options`.
    """
    attacks = build_attacks(params)
    suitable = {name: attack for name, attack in attacks.items() if suits(attack)}
    left_out = [name for name in attacks if name not in suitable]
    if not suitable:
        log.warning(f"none of the chosen attacks is run, since {unfit}", attacks=left_out)
    elif left_out:
        log.info(f"left out, since {unfit}", attacks=left_out)
    return suitable


_BISECTIONS = 40


def as_pixels(images: NDArray[np.uint8]) -> Floats:
    """uint8 images as pixels in [0, 1]."""
    return images.astype(np.float32) / np.float32(255)


def as_levels(pixels: Floats) -> NDArray[np.uint8]:
    """Pixels in [0, 1] as images of 256 grey levels."""
    return np.round(pixels * 255).astype(np.uint8)


def l2(first: Floats, second: Floats) -> NDArray[np.float64]:
    """Euclidean distance of each pair of images, float64 ``(N,)``."""
    difference = (first.astype(np.float64) - second).reshape(len(first), -1)
    distance: NDArray[np.float64] = np.sqrt((difference**2).sum(axis=1))
    return distance


def linf(first: Floats, second: Floats) -> NDArray[np.float64]:
    """Greatest change of one pixel between each pair of images, float64 ``(N,)``."""
    change = np.abs(first - second).reshape(len(first), -1)
    largest: NDArray[np.float64] = change.max(axis=1).astype(np.float64)
    return largest


def draw_noise_of_length(
    images: Floats, lengths: NDArray[np.float64], sources: Ints, seed: int
) -> Floats:
    """Images changed at random, each by a given L2 distance that holds after clipping to [0, 1].

    Args:
        images: float32 ``(N, H, W, C)``, pixels in [0, 1].
        lengths: float ``(N,)``; one that clipping cannot reach becomes the longest that it can.
        sources: int64 ``(N,)``, names of the images' random streams.
        seed: root of the random streams.
    """
    directions = np.stack(
        [
            draw_direction(seed, "control", s, image)
            for image, s in zip(images, sources, strict=True)
        ]
    )
    low, high = np.zeros(len(images)), np.full(len(images), 1e3)

    def moved(scale: NDArray[np.float64]) -> Floats:
        step = scale[:, None, None, None].astype(np.float32) * directions
        return np.clip(images + step, 0, 1)

    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        short = l2(moved(middle), images) < lengths
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return moved(high)


def draw_direction(seed: int, purpose: str, source: int, image: Floats) -> Floats:
    """Gaussian noise of standard deviation 1, of the image's shape.

    Args:
        seed: root of the random streams.
        purpose: what it is for; together with the source it names the stream.
        source: position of the image among the test inputs.
        image: the image.
    """
    rng = stream(seed, "attack", purpose, int(source))
    return rng.standard_normal(image.shape, np.float32)
