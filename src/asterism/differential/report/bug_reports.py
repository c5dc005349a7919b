"""Writing a folder for each unique finding: script, ``report.md`` and the minimal model."""

from __future__ import annotations

import hashlib
import textwrap
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from asterism.core.files.artifacts import write_json
from asterism.differential.adapters.environments import interpreter_of
from asterism.differential.adapters.versions import installed_versions
from asterism.differential.engine.inputs import OUTSIDE
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import ODD_REFERENCE, Finding
from asterism.differential.oracle.outside import expected_outside
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.confirming import death_of, exit_statuses
from asterism.differential.report.known_issues import KnownIssue, issue_of
from asterism.differential.report.markdown import block, cell, code, shown
from asterism.differential.report.script_writer import (
    KINDS,
    REPRO,
    ScriptWriter,
    own_environment,
    packages_of,
)
from asterism.differential.report.what_ran_before import section, write_history
from asterism.differential.triage.replay import Replay, Replayer
from asterism.differential.triage.unique import UniqueFinding
from asterism.memo.graphs.weights import Stored

#: The minimal model: its graph, and a file of Keras' own.
GRAPH, MODEL = "model.json", "model.keras"

#: Folders of findings that stand apart.
LIMITS, NOT_REPRODUCED = "known-limits", "not-reproduced"

#: Fresh processes that a reproducer is run in.
CONFIRMATIONS = 3

#: Characters of a script that a report can hold: issue trackers take 65,536 in all.
LONGEST = 50_000


@dataclass(frozen=True)
class Report:
    """What was written about one unique finding.

    Args:
        folder: where, below the folder of all findings.
        signature: the finding's.
        confirmed: how the processes of its script ended.
        known: a link to an issue or a page; empty where there is none.
        limit: what the library is documented not to do; empty where it is no known limit.
    """

    folder: str
    signature: str
    confirmed: tuple[int, ...]
    known: str
    limit: str = ""

    @property
    def reproduced(self) -> bool:
        """Whether every fresh process showed it."""
        return _shows(self.confirmed)

    def to_json(self, found: UniqueFinding) -> dict[str, Any]:
        """What the list of unique findings says about this one."""
        return {
            "folder": self.folder,
            "confirmed": list(self.confirmed),
            "known": self.known,
            "limit": self.limit,
            **found.to_json(),
            "layers": len(found.graph.layers),
            "minimality": found.minimality,
            "finding": (
                replace(found.finding, before=()) if self.reproduced else found.finding
            ).to_json(),
            "changed": found.changed,
        }


class Reporter:
    """Writes a folder for each unique finding. Its script is confirmed while triage goes on.

    Use it as a context manager. :meth:`start` may be called from triage, :meth:`settle` when triage
    is through, :meth:`finish` when the finding is complete.

    Args:
        worker_pool: started workers.
        judging: tolerances.
        seed: of the inputs.
        stored: arrays that nodes may name.
        target: where the folders go.
        known_issues: by a part of the signature.
        replayer: of findings that no script confirms; None where none is replayed.
    """

    def __init__(
        self,
        worker_pool: WorkerPool,
        judging: JudgeParams,
        seed: int,
        stored: Stored,
        target: Path,
        known_issues: dict[str, KnownIssue],
        replayer: Replayer | None = None,
    ) -> None:
        self._worker_pool = worker_pool
        self._scripts = ScriptWriter(worker_pool, judging, seed, stored)
        self._target = target
        self._known_issues = known_issues
        self._replayer = replayer
        # One at a time: the processes of a script load libraries anew, beside the workers.
        self._pool = ThreadPoolExecutor(1)
        self._confirming: dict[str, Future[tuple[int, ...]]] = {}
        #: Longer kinds of scripts that are left to try.
        self._left: dict[str, tuple[str, ...]] = {}
        self._settled: dict[str, tuple[int, ...]] = {}
        self._replays: dict[str, Replay] = {}

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, found: UniqueFinding) -> None:
        """Write the script and the model, and run it in fresh processes."""
        folder = self._target / folder_name(found)
        write_json(folder / GRAPH, found.graph.to_json())
        self._left[found.signature] = self._scripts.write(found, folder)
        runs = self._pool.submit(_confirmed, found.finding, folder)
        self._confirming[found.signature] = runs

    def settle(self, found: UniqueFinding) -> None:
        """Find a script that shows the finding, or what must run before it for one to do so.

        Where a script does not show it, the next longer kind is written and run in its place. What
        none of them shows is replayed, and may get another model by that.
        """
        folder, signature = self._target / folder_name(found), found.signature
        confirmed = self._confirming[signature].result()
        confirmed = self._shown(found, folder, self._left[signature], confirmed)
        if self._replayer is not None and not (_shows(confirmed) or self._limit_of(found)):
            confirmed = self._replayed(self._replayer, found, folder, confirmed)
        self._settled[signature] = confirmed

    def _replayed(
        self, replayer: Replayer, found: UniqueFinding, folder: Path, before: tuple[int, ...]
    ) -> tuple[int, ...]:
        """How the script ends that a replay leads to; as before where it leads to none."""
        replay = replayer.replay(found)
        self._replays[found.signature] = replay
        write_history(found.finding, replay, folder)
        if replay.graph is None or (replay.graph == found.graph and not replay.before):
            return before
        found.graph, found.before = replay.graph, replay.before
        found.unfinished, found.out_of_time = replay.unfinished, replay.out_of_time
        found.ablation = {}  # it was seen in workers that had run other models
        write_json(folder / GRAPH, found.graph.to_json())
        return self._shown(found, folder, KINDS, before)

    def _shown(
        self, found: UniqueFinding, folder: Path, left: tuple[str, ...], ended: tuple[int, ...]
    ) -> tuple[int, ...]:
        """How the first script ends that shows the finding, or the last one of those left."""
        while left and not _shows(ended):
            left = self._scripts.write(found, folder, left)
            ended = _confirmed(found.finding, folder)
        return ended

    def _limit_of(self, found: UniqueFinding) -> str:
        issue = issue_of(self._known_issues, found.signature, found.finding)
        return issue.limit if issue is not None else ""

    def finish(self, found: UniqueFinding) -> Report:
        """Write the report: how the script's processes ended, and what lies beside it.

        A finding that is not settled is settled first. What no script shows, and known limits, get
        into folders of their own.
        """
        name, signature = folder_name(found), found.signature
        folder = self._target / name
        if signature not in self._settled:
            self.settle(found)
        confirmed = self._settled[signature]
        content = None if found.changed else self._worker_pool.saved(found.graph)
        if content is not None:
            (folder / MODEL).write_bytes(content)
        issue = issue_of(self._known_issues, signature, found.finding)
        known, limit = (issue.link, issue.limit) if issue is not None else ("", "")
        apart = LIMITS if limit else "" if _shows(confirmed) else NOT_REPRODUCED
        report = Report(f"{apart}/{name}" if apart else name, signature, confirmed, known, limit)
        text = _markdown(found, report, folder, self._replays.get(signature))
        (folder / "report.md").write_text(text, encoding="utf-8", errors="replace")
        if apart:
            (self._target / apart).mkdir(exist_ok=True)
            folder.rename(self._target / apart / name)
        return report


def _shows(statuses: tuple[int, ...]) -> bool:
    return all(status == 1 for status in statuses)


def folder_name(found: UniqueFinding) -> str:
    """Library, symptom and a hash of the signature."""
    digest = hashlib.sha256(found.signature.encode()).hexdigest()[:8]
    words = f"{found.finding.library} {found.finding.symptom}".lower().replace("/", " ")
    return "-".join([*words.split(), digest])


def _confirmed(finding: Finding, folder: Path) -> tuple[int, ...]:
    """How fresh processes end that run the script, by the Python of the library's environment."""
    python = interpreter_of(own_environment(finding) or "")
    return exit_statuses(folder / REPRO, CONFIRMATIONS, python, death_of(finding))


def _markdown(
    found: UniqueFinding, report: Report, folder: Path, replay: Replay | None = None
) -> str:
    """In the shape that the libraries' bug templates ask for: ``templates/report.md``."""
    finding = found.finding
    known = f"\nKnown: {shown(report.known)}\n" if report.known else ""
    if report.limit:
        known = f"\nA documented limit: {shown(report.limit)} ({shown(report.known)})\n"
    elif not report.reproduced:
        known += "\nNot reproduced: no script in a fresh process shows it.\n"
    packages = "\n".join(f"- {name} {shown(v)}" for name, v in installed_versions().items())
    if (library := own_environment(finding)) is not None:
        packages = f"- the environment {library}: {shown(packages_of(library))}\n{packages}"
    where = shown(str(found.layer or finding.exception))
    template = files("asterism.differential.report").joinpath("templates", "report.md")
    return Template(template.read_text(encoding="utf-8")).substitute(
        title=f"{shown(finding.library)}: {shown(finding.symptom)} ({where})",
        known=known,
        signature=code(found.signature),
        minimality=found.minimality,
        models=len(found.models),
        backends=", ".join(map(shown, finding.backends)),
        statuses=", ".join(map(str, report.confirmed)),
        file=_model(folder),
        script=_script_of(folder),
        expected=_expected(finding),
        actual=_actual(finding),
        before=section(finding, replay) if replay is not None else "",
        ablation="\n".join(f"| {cell(w)} | {cell(a)} |" for w, a in found.ablation.items()),
        packages=packages,
    )


def _model(folder: Path) -> str:
    if not (folder / MODEL).exists():
        return "Keras writes no file of the model."
    return "The model with its weights is also `model.keras`, for `keras.saving.load_model`."


def _script_of(folder: Path) -> str:
    script = (folder / REPRO).read_text(encoding="utf-8")
    if len(script) > LONGEST:
        return f"The script, of {len(script):,} characters, is too long for an issue: attach it."
    return block(script, "python")


def _expected(finding: Finding) -> str:
    if finding.distributions == (OUTSIDE,):
        return f"Wanted: {shown(expected_outside(finding))}."
    agreeing = ", ".join(map(shown, finding.agreeing[:3]))
    if finding.symptom == ODD_REFERENCE:
        return f"In float64 the output that most libraries give: {agreeing}."
    if finding.by_values:
        return f"The output of a float64 run, within float32's rounding; {agreeing} give it."
    if agreeing:
        return f"The model runs, as it does in {agreeing}."
    return "The model runs, or raises an exception." if finding.deadly else "The model runs."


#: How far off outputs are, in words.
_DISTANCES = {
    "NaN/Inf mask differs": ": {:.0f} element(s)",
    "values differ": ": {:.3g} times the tolerance",
}


def _actual(finding: Finding) -> str:
    if finding.by_values:
        distance = _DISTANCES.get(finding.symptom, "").format(finding.excess)
        return f"{finding.symptom}{distance}; D_MAD {finding.d_mad:.3g}."
    said = code(finding.exception or finding.symptom)
    if not finding.message:
        return f"{said}."
    lines = textwrap.fill(finding.message, 100, break_long_words=False, break_on_hyphens=False)
    return f"""{said}, with this message. NAME, NUMBER, ADDRESS and _N stand for what differs from \
run to run, and … for the rest of a long one.

{block(lines, "text")}"""
