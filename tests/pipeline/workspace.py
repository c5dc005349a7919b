"""Projects of their own for tests: a copy of the source in a fresh git and DVC repository."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from imports import ROOT

ENVIRONMENT = os.environ | {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "GIT_AUTHOR_NAME": "test",
    "GIT_AUTHOR_EMAIL": "test@localhost",
    "GIT_COMMITTER_NAME": "test",
    "GIT_COMMITTER_EMAIL": "test@localhost",
    "DVC_NO_ANALYTICS": "1",
    "PYTHONHASHSEED": "0",  # as in the Makefile: the order of stages in dvc.lock depends on it
}


#: The ``asterism`` command from the source of the project that it runs in.
COMMAND = (
    *(sys.executable, "-c"),
    "import sys; sys.path.insert(0, 'src'); from asterism.cli import main; main()",
)


#: Parameters of a small search on a small pair, which takes the compressed model as ONNX.
SMALL_SEARCH = (
    *("compression.dynamic_range.method=onnx_static", "trigger.seeds=16", "trigger.queries=150"),
    "+compression.dynamic_range.options.calibration_images=40",
    "pairs.dynamic_range.compressed=artifacts/compress/dynamic_range/model.onnx",
    *("trigger.minimise_queries=10", "trigger.searches.diffchaser.options.population=10"),
)


def ended(folder, *command, environment=ENVIRONMENT):
    """A command's exit status, and its standard output and error together."""
    result = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return result.returncode, result.stdout


def run(folder, *command, **environment):
    """What a command says in a project, which has to succeed."""
    status, output = ended(folder, *command, environment=ENVIRONMENT | environment)
    assert status == 0, f"{' '.join(map(str, command))} failed:\n{output[-4000:]}"
    return output


def copy_tree(target):
    """A copy of the working tree, as git would commit it; no result comes along.

    The source's compiled form comes too: each of the many processes would compile it anew.
    """
    listed = run(ROOT, "git", "ls-files", "--cached", "--others", "--exclude-standard").split("\n")
    for name in filter(None, listed):
        source = ROOT / name
        if source.is_file() and name != "dvc.lock":
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    for compiled in (ROOT / "src").rglob("__pycache__"):
        folder = target / compiled.relative_to(ROOT)
        if folder.parent.is_dir():
            shutil.copytree(compiled, folder, dirs_exist_ok=True)


def copy_project(target, overrides):
    """A copy of the working tree with other parameters, committed."""
    copy_tree(target)
    run(target, "git", "init", "-q", "-b", "main")
    run(target, *COMMAND, "params", *overrides)
    commit(target, "start")
    return target


def commit(folder, message):
    """Commit everything that git does not ignore."""
    run(folder, "git", "add", "--all")
    run(folder, "git", "commit", "-qm", message)
