"""Reports of findings, each in the template that its library asks issues to have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from asterism.core.messages.escaping import printable
from asterism.findings.checking import CANNOT_TELL, ELSEWHERE
from asterism.findings.diagnosis import TO_MEND
from asterism.findings.entry import Entry
from asterism.libraries.adapters.environments import by_version
from asterism.libraries.reporting.markdown import block
from asterism.libraries.reporting.script_writer import REPRO

REPORT = "report.md"

#: Characters that Markdown reads: an underscore within a word is none.
_MARKUP = re.compile(r"([\\\[\]*]|(?<!\w)_|_(?!\w))")

#: Templates by library, with the parts of :func:`_parts` in place of the names after ``$``.
_TEMPLATES: Mapping[str, str] = {
    "openvino": """### OpenVINO Version
$version
### Operating System
$system
### Device used for inference
CPU, $processor
### OpenVINO installation
PyPi
### Programming Language
Python $python
### Framework
$packages
### Model used
The one of the script below.
### Issue description
$description
### Step-by-step reproduction
$script
### Relevant log output
$output
""",
    "onnxruntime": """### Describe the issue
$description
### To reproduce
$script
$output
### Platform
Linux
### OS Version
$system
### ONNX Runtime Installation
Released Package
### ONNX Runtime Version or Commit ID
$version
### ONNX Runtime API
Python $python
### Architecture
X64, $processor
### Execution Provider
Default CPU
""",
    "pytorch": """### 🐛 Describe the bug
$description
$script
### Error logs
$output
### Versions
$packages

Python $python; $system; $processor
""",
    "tensorflow": """### Issue type
Bug
### Source
binary
### TensorFlow version
$version
### OS platform and distribution
$system; $processor
### Python version
$python
### Current behavior?
$description
### Standalone code to reproduce the issue
$script
### Relevant log output
$output
""",
    "litert": """### 1. System information
$system; $processor; Python $python; $packages, installed by pip
### 2. Code
$script
### 3. Failure after conversion
$description
### 5. Any other info / logs
$output
""",
    "jax": """### Description
$description
$script
$output
### System info (python version, jaxlib version, accelerator, etc.)
$packages

Python $python; CPU; $system; $processor
""",
    "keras": """### Environment
$packages; Python $python; $system; $processor
### Describe the problem
$description
### Standalone code to reproduce the issue
$script
$output
""",
    "tf2onnx": """### Describe the bug
$description
### System information
$packages; Python $python; $system; $processor
### To Reproduce
$script
### Additional context
$output
""",
    "onnx": """### Bug Report
$description
### System information
$packages; Python $python; $system; $processor
### Reproduction instructions
$script
### Expected and actual behavior
$output
""",
}

#: Libraries that have the template of another one: converters that are part of it, and those that
#: have none of their own.
_LIKE = {
    "tflite": "litert",
    "onnx2torch": "onnx",
    "onnx2pytorch": "onnx",
}


def report_of(entry: Entry, folder: Path) -> str:
    """The report of a finding.

    Args:
        entry: the finding.
        folder: that holds its script.
    """
    library = (entry.diagnosis.mended_by or entry.library).partition(",")[0]
    template = _TEMPLATES.get(_LIKE.get(library, library), _TEMPLATES["onnx"])
    body = Template(template).substitute(_parts(entry, folder, library))
    spaced = body.replace("\n### ", "\n\n### ")
    return f"# {prose(entry.diagnosis.title)}\n\n{spaced}"


def _parts(entry: Entry, folder: Path, library: str) -> dict[str, str]:
    """What the names in templates stand for."""
    packages = ", ".join(f"{name} {version}" for name, version in entry.versions.items())
    own = {"litert": "ai-edge-litert"}.get(library, library)
    ran = entry.ran
    return {
        "description": "\n\n".join(_description(entry)),
        "script": block((folder / REPRO).read_text(encoding="utf-8"), "python"),
        "output": block(ran.output if ran else "(it has not run yet)", "text"),
        "packages": packages,
        "version": entry.versions.get(own, packages),
        "python": ran.python if ran else "",
        "system": ran.system if ran else "",
        "processor": ran.processor if ran else "",
    }


def _description(entry: Entry) -> list[str]:
    """Paragraphs: what is wrong and why, what it does to users, and what else was tried."""
    said = entry.diagnosis
    told = (
        ("", said.because),
        ("It contradicts: ", said.contradicts),
        ("What a user sees: ", said.effect),
        ("Smallest inputs: ", said.smallest),
        ("Versions: ", history_of(entry)),
        ("Upstream: ", ", ".join(said.upstream)),
        ("Looked for upstream: ", said.searched),
        ("Same cause as: ", said.duplicate_of),
        ("Note: ", said.audit_note),
    )
    lines = [f"{head}{prose(text)}" for head, text in told if text]
    if said.siblings:
        tried = "\n".join(f"- {prose(text)}" for text in said.siblings)
        lines.insert(4, f"Also tried:\n\n{tried}")
    if said.kind not in TO_MEND:
        lines.insert(0, f"Filed as: {said.kind}.")
    return lines


def history_of(entry: Entry) -> str:
    """Which versions have it, in their order, and what is known of its beginning.

    Versions that cannot tell are named only where no other version can.
    """
    said = entry.elsewhere
    versions = sorted(said, key=by_version)
    saying = {word: [v for v in versions if said[v] == word] for word in ELSEWHERE.values()}
    if versions and not any(saying.values()):
        saying = {CANNOT_TELL: versions}
    parts = [f"{word}: {_releases(some)}" for word, some in saying.items() if some]
    return "; ".join([entry.diagnosis.since] * bool(entry.diagnosis.since) + parts)


def _releases(environments: Sequence[str]) -> str:
    """Environments by their releases, each library once: ``openvino 2025.0, 2025.4``."""
    releases: dict[str, list[str]] = {}
    for name in environments:
        library, _, release = name.partition("@")
        releases.setdefault(library, []).append(release)
    return ", ".join(f"{library} {', '.join(some)}" for library, some in releases.items())


def prose(text: str) -> str:
    """A text of a collection on one line: code in backticks stays, other Markdown has no effect."""
    parts = printable(" ".join(text.split())).split("`")
    if len(parts) % 2 == 0:  # a backtick without its end
        parts[-2:] = ["'".join(parts[-2:])]
    parts[::2] = map(_without_markup, parts[::2])
    return "`".join(parts)


def _without_markup(text: str) -> str:
    """A text whose HTML and Markdown have no effect; links of their own are none of it."""
    words = text.replace("<", "&lt;").split(" ")
    return " ".join(w if "://" in w else _MARKUP.sub(r"\\\1", w) for w in words)
