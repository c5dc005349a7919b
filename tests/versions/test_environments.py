"""Environments of libraries: their files, where they lie, and what workers need of them."""

import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from old_runtime import DEFINITION, install, write_definition

import asterism_mxnet  # noqa: F401  (environments of the plug-in lie beside the others)
from asterism.comparing import environment_making as making
from asterism.core.messages.errors import UserError
from asterism.core.workers.starting import OWN_INTERPRETER
from asterism.differential.adapters.backend_names import (
    check_backends,
    is_backend,
    library_of,
    plugin_of,
    product_of,
)
from asterism.differential.adapters.environments import (
    environment_names,
    interpreter_of,
    read_environment,
)
from asterism.differential.adapters.library import CONVERTERS, LIBRARIES
from libraries.small_runs import python
from places import ROOT
from real_environments import make_or_skip
from rights import entered_by_others

OVER = """\
python: "3.11"
over_installed: true
download_mb: 1
disk_mb: 2
requirements: [packaging==23.0]
"""
OWN = [path.stem for path in (ROOT / "conf/environment").glob("*.yaml")]


def test_a_backend_may_name_an_environment():
    backend = "onnxruntime@1.20:tf2onnx_optimised"
    check_backends([backend])
    assert is_backend(backend)
    assert library_of(backend) == "onnxruntime@1.20"
    assert product_of("onnxruntime@1.20") == product_of("onnxruntime") == "onnxruntime"
    assert plugin_of("onnxruntime@1.20") is LIBRARIES["onnxruntime"]
    with pytest.raises(UserError, match="has no backend 'tf2onx'"):
        check_backends(["onnxruntime@1.20:tf2onx"])


@pytest.mark.parametrize("name", OWN)
def test_each_environment_of_the_project_can_be_read(name):
    own = read_environment(name, ROOT / "conf/environment")
    product, version = name.split("@")
    plugin = (LIBRARIES if product in LIBRARIES else CONVERTERS)[product]
    installed = own.versions[plugin.packages[0]]
    assert f"{installed}.".startswith(f"{version}.")
    assert "MB to download" in own.cost
    assert own.python == "3.11"


def test_an_environment_that_is_not_made_says_how_it_is_made(project):
    with pytest.raises(UserError) as error:
        interpreter_of("onnxruntime@0.1")
    assert "`asterism environments onnxruntime@0.1 --make`" in str(error.value)
    assert "about 1 MB to download and 2 MB of disk" in str(error.value)
    assert interpreter_of("onnxruntime") == OWN_INTERPRETER


@pytest.mark.parametrize("name", ["onnxruntime@0.2", "../x@1", "onnxruntime"])
def test_an_unknown_environment_is_rejected(project, name):
    with pytest.raises(UserError, match=r"there is no environment .*known: onnxruntime@0\.1"):
        read_environment(name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("numpy==1.23.5", "numpy>=1.23"), "is no package with its version"),
        (("numpy==1.23.5", "--index=x"), "is no package with its version"),
        (("3.11", "eleven"), "it should be like 3.11"),
        (("disk_mb: 2", "disk_mb: much"), "'disk_mb'"),
        (("disk_mb: 2", "disk: 2"), "'disk'"),
    ],
)
def test_a_wrong_file_is_rejected_in_one_line(project, change, said):
    write_definition(project, text=DEFINITION.replace(*change))
    with pytest.raises(UserError) as error:
        read_environment("onnxruntime@0.1")
    assert said in str(error.value) and "onnxruntime@0.1.yaml" in str(error.value)


def test_another_content_is_another_environment(old_runtime):
    before = read_environment("onnxruntime@0.1")
    assert before.is_made
    write_definition(old_runtime, text=DEFINITION.replace("1.23.5", "1.23.4"))
    assert not read_environment("onnxruntime@0.1").is_made
    assert environment_names() == ["onnxruntime@0.1"]


def test_its_python_finds_nothing_that_is_installed_here(old_runtime):
    interpreter = interpreter_of("onnxruntime@0.1")
    assert [path.name for path in Path(interpreter.source).iterdir()] == ["asterism"]
    assert Path(interpreter.source, "asterism/core").is_dir()


def test_one_over_the_installed_packages_has_their_versions_where_it_has_none(project):
    write_definition(project, text=f"over_installed: true\n{DEFINITION}")
    over = read_environment("onnxruntime@0.1")
    assert over.version_of("onnxruntime") == "0.1.0"
    assert over.version_of("onnx") == metadata.version("onnx")
    assert over.version_of("no-such-package") == ""
    write_definition(project)
    alone = read_environment("onnxruntime@0.1")
    assert alone.version_of("onnxruntime") == "0.1.0" and not alone.version_of("onnx")
    assert alone.folder != over.folder


def test_one_over_the_installed_packages_has_their_python(project, monkeypatch):
    write_definition(project, text=OVER.replace("3.11", "3.99"))
    asked = []

    def run(command, _):
        asked.append(command[0])
        raise UserError("that is enough")

    monkeypatch.setattr(making, "_run", run)
    with pytest.raises(UserError, match="that is enough"):
        making.make_environment(read_environment("onnxruntime@0.1"), print)
    assert asked == [sys.executable]


@pytest.mark.slow
def test_one_over_the_installed_packages_finds_them_behind_its_own(project):
    """What it has itself comes first; all else is what is installed here."""
    write_definition(project, text=OVER)
    over = read_environment("onnxruntime@0.1")
    make_or_skip(over.name)
    said = "import packaging, onnx, sys; print(packaging.__version__, onnx.__version__, sys.prefix)"
    given = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([over.executable, "-c", said], env=given, capture_output=True, text=True)
    assert done.stdout.split() == ["23.0", metadata.version("onnx"), str(over.folder)], done.stderr


def test_a_worker_imports_nothing_but_numpy():
    """The modules of workers, and every plug-in, where only NumPy is installed."""
    program = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in {"asterism", "numpy"} | set(sys.stdlib_module_names) and path is None:
            raise ModuleNotFoundError(f"no {name}", name=name)
import numpy
sys.meta_path.insert(0, Absent())
import asterism.core.workers.entry
import asterism.differential.engine.worker
from asterism.differential.adapters.library import CONVERTERS, LIBRARIES
print(len([LIBRARIES[n] for n in LIBRARIES]), len([CONVERTERS[n] for n in CONVERTERS]))
"""
    done = python("-c", program, PYTHONPATH=str(ROOT / "src"), ASTERISM_LIBRARIES="")
    assert done.returncode == 0, done.stderr
    libraries, converters = map(int, done.stdout.split())
    assert libraries >= 10 and converters >= 3


def in_the_saved_state(folder):
    """A program in every place below ``state.root`` that names of environments lead to."""
    made = read_environment("onnxruntime@0.1").folder
    link = Path(interpreter_of("onnxruntime@0.1").source) if made.exists() else made
    for name in (f"{made.name}/bin/python", f"{link.name}/asterism/__init__.py"):
        path = folder / "state/environments" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("planted")
        path.chmod(0o755)


def test_no_program_below_the_saved_state_is_run(project):
    in_the_saved_state(project)
    with pytest.raises(UserError, match=r"`asterism environments onnxruntime@0\.1 --make`"):
        interpreter_of("onnxruntime@0.1")
    install(project)
    in_the_saved_state(project)
    found = interpreter_of("onnxruntime@0.1")
    for path in (found.executable, found.source):
        assert Path(path).is_relative_to(project / "programs")


@pytest.mark.parametrize("place", ["", "environments", "environments/{name}/bin"])
def test_an_environment_that_others_can_write_to_is_neither_run_nor_made(
    project, monkeypatch, place
):
    with entered_by_others() as folder:
        monkeypatch.setenv("ASTERISM_PROGRAMS_ROOT", str(folder))
        install(project)
        made = read_environment("onnxruntime@0.1")
        assert interpreter_of("onnxruntime@0.1").executable == str(made.executable)
        (folder / place.format(name=made.folder.name)).chmod(0o777)
        with pytest.raises(UserError, match=r"chmod go-w .*programs\.root"):
            interpreter_of("onnxruntime@0.1")
        if place in ("", "environments"):
            with pytest.raises(UserError, match=r"chmod go-w .*programs\.root"):
                making.make_environment(made, print)


def test_removing_frees_the_space_and_can_be_repeated(old_runtime):
    said = []
    assert read_environment("onnxruntime@0.1").is_made
    making.remove_environment(read_environment("onnxruntime@0.1"), said.append)
    assert not read_environment("onnxruntime@0.1").is_made
    making.remove_environment(read_environment("onnxruntime@0.1"), said.append)
    assert said[1] == "onnxruntime@0.1 is not made"
    assert list((old_runtime / "programs/environments").iterdir()) == []


def test_what_is_made_is_not_made_again(old_runtime):
    said = []
    making.make_environment(read_environment("onnxruntime@0.1"), said.append)
    assert said[0].startswith("onnxruntime@0.1 is made: ")


def test_a_python_that_is_not_there_is_named(project):
    write_definition(project, text=DEFINITION.replace("3.11", "3.99"))
    with pytest.raises(UserError, match=r"there is no python3\.99 on the PATH"):
        making.make_environment(read_environment("onnxruntime@0.1"), lambda _: None)


def test_a_python_is_looked_for_by_what_it_says_of_itself(tmp_path, monkeypatch):
    for name, version in (("python3.2", "[3, 2]"), ("python3.3", "[3, 4]")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{version}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert making.find_python(f"{sys.version_info[0]}.{sys.version_info[1]}") == sys.executable
    assert making.find_python("3.2") == str(tmp_path / "python3.2")
    with pytest.raises(UserError, match=r"no python3\.3 on the PATH"):
        making.find_python("3.3")


PYTHON = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
    *venv*) for made; do :; done; mkdir -p "$made/bin"; cp "$0" "$made/bin/python" ;;
    -c*) echo '[3, 99]' ;;
esac
"""


def test_packages_are_downloaded_before_they_are_installed_without_a_network(
    project, tmp_path, monkeypatch
):
    """By a Python that notes what it is asked to do."""
    log, python = tmp_path / "asked.txt", tmp_path / "programs-of-a-user/python3.99"
    python.parent.mkdir()
    python.write_text(PYTHON.format(log=log))
    python.chmod(0o755)
    monkeypatch.setenv("PATH", f"{python.parent}{os.pathsep}{os.environ['PATH']}")
    write_definition(project, text=DEFINITION.replace("3.11", "3.99"))
    wanted = read_environment("onnxruntime@0.1")
    making.make_environment(wanted, lambda _: None)
    assert wanted.is_made
    steps = [line.split() for line in log.read_text().splitlines()]
    named = [set(step) & {"venv", "download", "install", "uninstall"} for step in steps]
    assert named[1:] == [{"venv"}, {"download"}, {"install"}, {"uninstall"}]
    assert "--no-index" in steps[3] and "--no-index" not in steps[2]
    left = {path.name for path in wanted.folder.parent.iterdir()}
    assert left == {wanted.folder.name, f"{wanted.folder.name}.lock"}


def write_wheel(folder, name, version):
    """A package of one module, as an index would have it."""
    info = f"{name}-{version}.dist-info"
    wheel = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    facts = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {f"{name}.py": "READ = 7\n", f"{info}/METADATA": facts, f"{info}/WHEEL": wheel}
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    folder.mkdir()
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


@pytest.mark.slow
def test_an_environment_that_could_not_be_made_is_made_whole_by_the_next_try(project, monkeypatch):
    """What was downloaded stays until then; no half environment is there."""
    write_definition(project, text=DEFINITION.replace(", numpy==1.23.5", ""))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PYTHONPATH", "nowhere")  # this process' own, which holds for no other
    wanted, said = read_environment("onnxruntime@0.1"), []
    with pytest.raises(UserError, match=r"packages of onnxruntime@0\.1 cannot be installed: .*ERR"):
        making.make_environment(wanted, said.append)
    assert not wanted.is_made
    left = {path.name for path in wanted.folder.parent.iterdir()}
    assert left == {f"{wanted.folder.name}.lock", f"{wanted.folder.name}.downloads"}
    write_wheel(project / "wheels", "onnxruntime", "0.1.0")
    monkeypatch.setenv("PIP_FIND_LINKS", str(project / "wheels"))
    making.make_environment(wanted, said.append)
    assert (
        wanted.is_made and not wanted.folder.with_name(f"{wanted.folder.name}.downloads").exists()
    )
    assert said[:2] == [f"onnxruntime@0.1: making it takes {wanted.cost}"] * 2
    assert re.match(r"onnxruntime@0\.1 is made: 0 MB of packages, \d+ MB of disk", said[2])
    ask = "import onnxruntime, importlib.util as u; print(onnxruntime.READ, u.find_spec('pip'))"
    done = subprocess.run([wanted.executable, "-I", "-c", ask], capture_output=True, text=True)
    assert done.stdout.split() == ["7", "None"], done.stderr
