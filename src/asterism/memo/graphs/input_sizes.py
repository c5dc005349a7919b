"""Sizes of a model's inputs, where the model itself leaves some of them open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from asterism.core.messages.errors import UserError

#: A shape for every input, or shapes by the inputs' names; without the batch.
Shapes = Sequence[int] | Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class InputSizes:
    """Sizes that replace the axes that a model leaves open.

    Args:
        open_size: of an axis of an input that no shape is given for.
        shapes: the shapes of inputs; they must agree with what the model says.
    """

    open_size: int
    shapes: Shapes = field(default_factory=dict)

    def of(self, name: str, stated: Sequence[int | None]) -> list[int]:
        """The sizes of an input.

        Args:
            name: of the input.
            stated: by the model, without the batch; None where an axis is open.

        Raises:
            UserError: the shape that is given for it does not fit what the model states.
        """
        given = self.shapes.get(name) if isinstance(self.shapes, Mapping) else self.shapes
        if given is None:
            return [self.open_size if size is None else int(size) for size in stated]
        alike = len(given) == len(stated)
        if not alike or any(s not in (None, g) for s, g in zip(stated, given, strict=True)):
            wanted = ", ".join("free" if size is None else str(size) for size in stated)
            raise UserError(
                f"the input {name!r} has the shape [{wanted}] without the batch, and "
                f"{list(given)} is given for it"
            )
        return [int(size) for size in given]

    def require_known(self, names: Sequence[str]) -> None:
        """Reject a shape for an input that the model does not have.

        Raises:
            UserError: there is one.
        """
        if isinstance(self.shapes, Mapping) and (others := self.shapes.keys() - set(names)):
            raise UserError(
                f"there is no input {min(others)!r}, for which a shape is given (there are: "
                f"{', '.join(names)})"
            )
