"""The commands that pages show, and how the tests run each of them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from manual.manual_pages import pages
from places import ROOT

#: Programs whose calls are commands of this project. Those of git and pip are not.
PROGRAMS = ("asterism", "dvc", "make", "python", "storm")

_BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(rf"(?<!`)`((?:{'|'.join(PROGRAMS)})\s[^`]+)`(?!`)")
_COMMENT = re.compile(r"\s+#.*")
_NEXT = re.compile(r"\s(?:&&|\|\||;)\s|\s&$")

#: Words that stand for something of the reader's, and what stands there in tests.
STAND_INS = {
    "FOLDER": "../folder",
    "REV": "HEAD",
    "STAGE": "build_dtmc",
    "NAME": "library_versions",
    "OVERRIDES": "seed=1",
    "${item.criterion}": "state",
    "${key}": "pruned",
    "N": "2",
    "M": "2",
}


@dataclass(frozen=True)
class Command:
    """A command of a page.

    Attributes:
        page: where it stands first.
        text: as the page has it, on one line.
    """

    page: str
    text: str

    @property
    def words(self) -> list[str]:
        """Its words, with what tests have in the place of a reader's own."""
        return [STAND_INS.get(word, word) for word in shlex.split(self.text)]


@dataclass(frozen=True)
class Way:
    """How tests run commands.

    Attributes:
        pattern: what the commands look like.
        where: ``checkout`` (this one, at once), ``project`` (one whose stages only write files),
            ``elsewhere`` (another test runs it), or ``nowhere``.
        more: words behind the command that leave out what takes long, such as one stage in the
            place of all, and hold in the place of the same options before; the other test's file;
            or why nothing runs it.
    """

    pattern: str
    where: str
    more: str = ""


#: The first that fits holds.
WAYS = [
    Way(r"make ", "checkout", "--dry-run"),
    Way(r"python -m pytest .* -k ", "elsewhere", "tests/pipeline/test_extending.py"),
    Way(r"python -m pytest ", "checkout", "--collect-only"),
    Way(r"python tests/", "checkout"),
    Way(r"python benchmarks/", "checkout", "--help"),
    Way(r"python stages [a-z_]+", "checkout", "--help"),
    Way(r"python stages", "elsewhere", "tests/pipeline/test_running_stages.py"),
    Way(r"python artifacts/triage_findings/", "elsewhere", "docs/tutorials/fuzz-a-library.md"),
    Way(r"asterism compare$", "elsewhere", "tests/reproduction/test_compare.py"),
    Way(r"asterism compare ", "checkout"),
    Way(r"asterism environments$", "checkout"),
    Way(r"asterism environments ", "elsewhere", "tests/versions/test_real_versions.py"),
    Way(
        r"asterism compare-versions openvino 2024.6",
        "elsewhere",
        "tests/versions/test_real_versions.py",
    ),
    Way(r"asterism compare-libraries", "elsewhere", "tests/versions/test_compare_libraries.py"),
    Way(r"asterism compare-versions", "elsewhere", "docs/tutorials/check-an-upgrade.md"),
    Way(r"asterism campaign", "project", "--pieces 1 --size 1 --folder ../campaign"),
    Way(r"asterism call-functions$", "checkout", "--help"),
    Way(r"asterism call-functions ", "project", "--most 1"),
    Way(r"asterism findings", "elsewhere", "tests/libraries/test_findings_so_far.py"),
    Way(r"asterism (add-finding|collect-findings)$", "checkout", "--help"),
    Way(r"python (FOLDER/)?repro.py", "elsewhere", "tests/findings/test_committed_findings.py"),
    Way(r"asterism check-findings --environment", "elsewhere", "tests/findings/test_elsewhere.py"),
    Way(
        r"asterism check-findings --(only|write|audit)",
        "elsewhere",
        "tests/findings/test_checks.py",
    ),
    Way(r"asterism add-finding ", "elsewhere", "tests/findings/test_by_hand.py"),
    Way(r"asterism collect-findings .", "elsewhere", "tests/findings/test_collection.py"),
    Way(r"asterism new --update", "elsewhere", "tests/pipeline/test_new_project.py"),
    Way(r"asterism vet --demo", "elsewhere", "docs/tutorials/see-a-page.md"),
    Way(r"asterism vet .*--check", "elsewhere", "tests/vetting/test_repeated_certificates.py"),
    Way(r"asterism vet .*digits", "elsewhere", "docs/tutorials/vet-a-compressed-model.md"),
    Way(r"asterism vet .", "project", "--dry-run"),
    Way(r"asterism judge-tests", "elsewhere", "tests/pipeline/test_judge_tests.py"),
    Way(r"asterism open vet", "elsewhere", "tests/pipeline/test_open.py"),
    Way(r"asterism open", "project", "--print"),
    Way(r"asterism reproduce$", "elsewhere", "tests/pipeline/test_reproducing.py"),
    Way(r"asterism sweep .*launcher=slurm", "elsewhere", "tests/pipeline/test_slurm.py"),
    Way(r"asterism sweep .*optuna", "elsewhere", "tests/pipeline/test_sweeps.py"),
    Way(r"asterism (reproduce|sweep) .", "project", "--dry-run"),
    Way(r"asterism repro .*slurm_shard", "elsewhere", "tests/pipeline/test_slurm.py"),
    Way(r"asterism (vet|sweep|pack)$", "checkout", "--help"),
    Way(r"(asterism|python -m asterism.sweep) ", "project"),
    Way(r"dvc remote modify", "elsewhere", "tests/pipeline/test_sharing.py"),
    Way(r"dvc gc", "project", "--dry"),
    Way(
        r"dvc (get|plots diff) ",
        "nowhere",
        "a project whose stages compute nothing has no such results and curves",
    ),
    Way(r"dvc (queue start|exp apply)", "elsewhere", "tests/pipeline/test_sweeps.py"),
    Way(r"dvc exp run .*(measure_\w+|repair@file|triage_findings|generate_models)", "project"),
    Way(r"dvc exp run", "project", "library_versions"),
    Way(r"dvc ", "project"),
    Way(
        r"storm ",
        "nowhere",
        "no package brings the program; a test reads these files by stormpy",
    ),
]


def commands() -> list[Command]:
    """Every command of every page and of those at the front, each once.

    Tutorials and ``docs/extending.md`` have blocks that their own tests follow as a whole.
    """
    found: dict[str, Command] = {}
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages()]:
        text = page.read_text(encoding="utf-8")
        if page.parent.name == "tutorials" or page.stem == "extending":
            text = _BLOCK.sub("", text)
        for line in lines(text):
            found.setdefault(line, Command(str(page.relative_to(ROOT)), line))
    return list(found.values())


def lines(text: str) -> list[str]:
    """The commands of a page: of blocks, and of running text where they are whole.

    A name of DVC's commands in running text, as `dvc repro`, is no command to run.
    """
    blocks = [body for kind, body in _BLOCK.findall(text) if kind in {"", "sh", "yaml"}]
    shown = "".join(blocks).replace("\\\n", " ").splitlines()
    shown = [_COMMENT.sub("", line.strip().removeprefix("- run: ")) for line in shown]
    running = [" ".join(found.split()) for found in _INLINE.findall(_BLOCK.sub("", text))]
    whole = [one for one in running if not re.fullmatch(r"dvc( exp)? \S+( -S| --queue)?|.*…", one)]
    parts = [part.strip() for one in shown + whole for part in _NEXT.split(one)]
    return [" ".join(part.split()) for part in parts if part.partition(" ")[0] in PROGRAMS]


def way_of(command: Command) -> Way:
    """How tests run a command.

    Raises:
        LookupError: nothing says how.
    """
    for way in WAYS:
        if re.match(way.pattern, command.text):
            return way
    raise LookupError(f"{command.page}: no test runs `{command.text}`")
