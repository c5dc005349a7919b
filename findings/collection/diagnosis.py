"""What a person found out about a finding: what is wrong, who mends it, what upstream knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import StringConstraints

from asterism.core.files.records import ShortText

#: Kinds of findings, in the order of the index. The last one is what an earlier oracle reported
#: and the oracle of today does not.
KINDS: Mapping[str, str] = {
    "wrong result": "A documented sentence is contradicted, or mathematics where both sides are "
    "finite and defined.",
    "crash": "The process ends by a signal.",
    "valid input rejected": "An input that the documentation allows ends in an exception.",
    "difference": "Two libraries differ where no document says which one is right. This holds for "
    "NaN, unless the result is one that no reading of the document allows.",
    "stated limit or trivial": "The library says that it does not do this, or it hardly matters.",
    "empty or zero-sized": "An empty batch, an axis of size zero, or a sum over nothing.",
    "dormant project": "Nobody maintains the project any more.",
    "no fault": "Earlier oracles called these differences wrong. What they led to is mended: the "
    "oracle of today does not report them.",
}
WRONG, CRASH, REJECTED, DIFFERENCE, LIMIT, EMPTY, DORMANT, NO_FAULT = KINDS

#: Kinds that a maintainer is asked to mend.
TO_MEND = (WRONG, CRASH, REJECTED)

#: A kind of :data:`KINDS`.
Kind = Annotated[str, StringConstraints(pattern=f"^({'|'.join(KINDS)})$")]


@dataclass(frozen=True)
class Diagnosis:
    """What a maintainer reads first.

    Args:
        title: names the fault.
        kind: one of :data:`KINDS`.
        mended_by: the library that has to be changed; empty where none has.
        because: why it is wrong, or why it is not, in a few sentences.
        contradicts: the sentence or formula that is contradicted, with its link.
        effect: what an application would see.
        smallest: the smallest inputs that show it.
        siblings: what else was run: other axes, dtypes, neighbours; each with its outcome.
        since: what is known of its beginning beside the versions that were run.
        upstream: links to issues or changes of the library.
        searched: what was searched for, and what came of it, where no issue is linked; it begins
            with ``not looked up yet`` where nobody has searched.
        duplicate_of: folder of the finding with the same cause.
        audit: class that a reader gave it, ``A`` to ``F``; empty where none has read it.
        audit_note: why its kind is not the one of that class, or what was mended since.
        shows: words that the script prints while the bug lives.
    """

    title: ShortText
    kind: Kind
    mended_by: ShortText = ""
    because: ShortText = ""
    contradicts: ShortText = ""
    effect: ShortText = ""
    smallest: ShortText = ""
    siblings: tuple[ShortText, ...] = ()
    since: ShortText = ""
    upstream: tuple[ShortText, ...] = ()
    searched: ShortText = ""
    duplicate_of: ShortText = ""
    audit: ShortText = ""
    audit_note: ShortText = ""
    shows: tuple[ShortText, ...] = ()
