"""A folder with script, report and model for each unique finding, and what of it is known already.

Known are links to issues, and limits that libraries document.
"""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from asterism.core.files.artifacts import write_json
from asterism.core.files.records import record_from
from asterism.core.files.user_files import NO_FILE
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError, prefix_errors
from asterism.core.settings.yaml_files import read_yaml
from asterism.differential.adapters.backend_names import library_of
from asterism.differential.adapters.environments import installed_versions, interpreter_of
from asterism.differential.engine.inputs import DISTRIBUTIONS, OUTSIDE
from asterism.differential.oracle.finding import ODD_REFERENCE, Finding
from asterism.differential.oracle.invalid_configurations import describe_expected_rejection
from asterism.differential.report.confirming import describe_death, exit_statuses
from asterism.differential.report.script_writer import (
    REPRO,
    ScriptWriter,
    own_environment,
    packages_of,
)
from asterism.differential.report.texts import render_template
from asterism.differential.shrinking.reproduction import Reproduction
from asterism.differential.shrinking.unique_finding import UniqueFinding
from asterism.memo.graphs.weights import Stored

log = get_logger(__name__)


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


def find_known_issue(
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


#: The minimal model: its graph, and a file of Keras' own.
GRAPH, MODEL = "model.json", "model.keras"

#: The report.
REPORT = "report.md"

#: Folders of findings that are no confirmed defects.
LIMITS, NOT_REPRODUCED = "known-limits", "not-reproduced"

#: The list of findings.
UNIQUE = "unique.json"

#: Fresh processes that a reproducer is run in.
CONFIRMATIONS = 3

#: Characters of a script that a report can hold: issue trackers take 65,536 in all.
LONGEST = 50_000


def write_reports(
    reporter: Reporter, unique: Sequence[UniqueFinding], folder: Path
) -> list[UniqueFinding]:
    """Write the reports of findings that were started, and their list.

    What its worker had run before is listed of a finding that no script shows.
    """
    finished = [reporter.finish(found) for found in unique]
    listed = []
    for found in finished:
        kept = replace(found.finding, before=()) if found.reproduced else found.finding
        listed.append({**found.to_json(), "finding": kept.to_json()})
    write_json(folder / UNIQUE, listed)
    return finished


class Reporter:
    """Writes a folder for each unique finding. Its script is confirmed while triage goes on.

    Use it as a context manager. :meth:`start` is called from triage, :meth:`finish` after it.

    Args:
        show: asks whether a model shows a finding.
        stored: arrays that nodes may name.
        target: where the folders go.
        known_issues: by a part of the signature.
    """

    def __init__(
        self,
        show: Reproduction,
        stored: Stored,
        target: Path,
        known_issues: dict[str, KnownIssue],
    ) -> None:
        self._show, self._stored = show, stored
        self._target = target
        self._known_issues = known_issues
        # One at a time: the processes of a script load libraries anew, beside the workers.
        self._pool = ThreadPoolExecutor(1)
        self._started: dict[str, tuple[Iterator[str], Future[tuple[int, ...]]]] = {}

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, found: UniqueFinding) -> None:
        """Write the model and the first script, and run it in fresh processes meanwhile."""
        folder = self._target / folder_name(found)
        write_json(folder / GRAPH, found.graph.to_json())
        scripts = ScriptWriter(found, self._show, self._stored).write(folder)
        next(scripts)
        ended = self._pool.submit(_confirmed, found.finding, folder)
        self._started[found.signature] = scripts, ended

    def finish(self, found: UniqueFinding) -> UniqueFinding:
        """Find a script that shows a finding that was started, and write its report.

        Where a script does not show it, the next longer one is written and run in its place. What
        no script shows, and known limits, get into folders of their own.
        """
        name = folder_name(found)
        folder = self._target / name
        scripts, started = self._started.pop(found.signature)
        found.confirmed = started.result()
        while not found.reproduced and next(scripts, None) is not None:
            found.confirmed = _confirmed(found.finding, folder)
        issue = find_known_issue(self._known_issues, found.signature, found.finding.distributions)
        found.known, found.limit = (issue.link, issue.limit) if issue is not None else ("", "")
        content = None if found.changed else self._show.worker_pool.saved(found.graph)
        if content is not None:
            (folder / MODEL).write_bytes(content)
        group = LIMITS if found.limit else "" if found.reproduced else NOT_REPRODUCED
        found.folder = f"{group}/{name}" if group else name
        text = report_text(found, folder)
        (folder / REPORT).write_text(text, encoding="utf-8", errors="replace")
        if group:
            (self._target / group).mkdir(exist_ok=True)
            folder.rename(self._target / group / name)
        return found


def folder_name(found: UniqueFinding) -> str:
    """Library, symptom and a hash of the signature."""
    digest = hashlib.sha256(found.signature.encode()).hexdigest()[:8]
    words = f"{found.finding.library} {found.finding.symptom}".lower().replace("/", " ")
    return "-".join([*words.split(), digest])


def _confirmed(finding: Finding, folder: Path) -> tuple[int, ...]:
    """How fresh processes end that run the script, by the Python of the library's environment."""
    python = interpreter_of(own_environment(finding) or "")
    return exit_statuses(folder / REPRO, CONFIRMATIONS, python, describe_death(finding))


def report_text(found: UniqueFinding, folder: Path) -> str:
    """The report of a finding, in the shape that the libraries' bug templates ask for."""
    finding, library = found.finding, own_environment(found.finding)
    return render_template(
        f"{REPORT}.j2",
        found=found,
        finding=finding,
        where=str(found.layer or finding.exception),
        has_model=(folder / MODEL).exists(),
        script=(folder / REPRO).read_text(encoding="utf-8"),
        longest=LONGEST,
        outside=describe_expected_rejection(finding) if finding.distributions == (OUTSIDE,) else "",
        odd_reference=ODD_REFERENCE,
        message=textwrap.fill(finding.message, 100, break_long_words=False, break_on_hyphens=False),
        worker=library_of(finding.backends[0]),
        environment=library,
        packages_there=packages_of(library) if library is not None else "",
        packages=installed_versions(),
    )
