"""What is known of findings already: links to issues, and limits that libraries document."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from asterism.core.files.records import record_from
from asterism.core.files.user_files import NO_FILE
from asterism.core.messages.errors import UserError, prefix_errors
from asterism.core.settings.yaml_files import read_yaml
from asterism.differential.engine.inputs import DISTRIBUTIONS


@dataclass(frozen=True)
class KnownIssue:
    """What is known of findings whose signature has some part.

    Args:
        link: to the issue, or to the page that documents it.
        limit: what the library is documented not to do; empty where it is an issue as any other.
        inputs: kind of inputs that the finding must show with; empty for any.
    """

    link: str
    limit: str = ""
    inputs: str = ""


def issue_of(
    known: Mapping[str, KnownIssue], signature: str, inputs: Collection[str]
) -> KnownIssue | None:
    """The first known issue of a finding, or None.

    Args:
        known: by a part of the signature.
        signature: the finding's.
        inputs: kinds of inputs that show it.
    """
    for part, issue in known.items():
        if part in signature and issue.inputs in ("", *inputs):
            return issue
    return None


def read_known_issues(name: str) -> dict[str, KnownIssue]:
    """Known issues by a part of the signature, from a YAML file; none for the placeholder.

    Raises:
        UserError: the file is missing, or maps a part to something else than a link, or than a
            link with a limit or a kind of inputs.
    """
    try:
        if name == NO_FILE:
            return {}
        document = read_yaml(Path(name)) or {}
    except FileNotFoundError as error:
        raise UserError(f"cannot read the known issues {name}: {error}") from None
    if not isinstance(document, dict):
        raise UserError(f"{name} must map parts of signatures to links")
    return {str(part): _issue(name, part, said) for part, said in document.items()}


def _issue(name: str, part: object, said: object) -> KnownIssue:
    with prefix_errors(f"{name}: {part!r}"):
        issue = record_from(KnownIssue, said if isinstance(said, dict) else {"link": str(said)})
        if issue.inputs not in ("", *DISTRIBUTIONS):
            raise UserError(f"there are no inputs {issue.inputs!r}")
        return issue
