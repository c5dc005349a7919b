"""Generated names that replace the names in a model file from others.

Libraries write names of nodes, inputs and parameters into source that they generate and execute.
So a library that may do that gets a file in which every name is a letter and a number.
"""

from __future__ import annotations

from collections import Counter

from asterism.core.messages.escaping import printable


class NameMap:
    """Names of ours for those of a foreign file, and the way back."""

    def __init__(self) -> None:
        self._ours: dict[tuple[str, str], str] = {}
        self._theirs: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def ours(self, kind: str, theirs: str) -> str:
        """The name for one of the file's: the same again for the same kind and text.

        Args:
            kind: a letter, with which names of this kind begin: ``v`` for values.
            theirs: the name in the file, any text.
        """
        key = (kind, theirs)
        if key not in self._ours:
            self._ours[key] = self.fresh(kind, theirs)
        return self._ours[key]

    def fresh(self, kind: str, theirs: str = "") -> str:
        """A name that nothing else has, for a thing whose name in the file need not be its own."""
        name = f"{kind}{self._counts[kind]}"
        self._counts[kind] += 1
        self._theirs[name] = theirs
        return name

    def theirs(self, ours: str) -> str:
        """The file's name behind one of ours; the same text where it is none of ours."""
        return self._theirs.get(ours, ours)


#: Characters of a text. LiteRT's converter names a tensor by all layers that it merged.
_LONGEST = 10_000


def require_plain_text(text: str | bytes) -> None:
    """Reject a text that a page or a terminal could obey, or that is too long for either.

    Args:
        text: bytes are UTF-8.

    Raises:
        ValueError: it holds more than letters, numbers, signs and spaces.
    """
    if len(text) <= _LONGEST:
        plain = text if isinstance(text, str) else text.decode("utf-8")
        if printable(plain) == plain:
            return
    raise ValueError(f"it holds a text that is no plain one of a line: {text[:60]!a}")
