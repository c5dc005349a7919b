"""Names of ours for those of a foreign file."""

from __future__ import annotations


class Names:
    """Names of ours for those of a foreign file, and the way back."""

    def __init__(self) -> None:
        self._ours: dict[tuple[str, str], str] = {}
        self._theirs: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def ours(self, kind: str, theirs: str) -> str:
        """The same name again for the same kind and text; a fresh ``kind + counter`` else."""
        if (kind, theirs) not in self._ours:
            number = self._counts[kind] = self._counts.get(kind, -1) + 1
            self._ours[kind, theirs] = f"{kind}{number}"
            self._theirs[f"{kind}{number}"] = theirs
        return self._ours[kind, theirs]

    def theirs(self, ours: str) -> str:
        """The file's name; the same text where it is none of ours."""
        return self._theirs.get(ours, ours)
