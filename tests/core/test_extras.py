"""What each extra brings, and the line that names it where it is missing."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from asterism import cli
from asterism.cli import commands
from asterism.core.messages.errors import (
    EXTRAS,
    UserError,
    missing_extra,
    reading,
)
from asterism.core.running.stage import extra_of, main
from places import ROOT

sys.path.append(str(ROOT / "docs"))

from update_dag import lanes

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [text.rpartition(" ")[2] for text in PROJECT["classifiers"]]
#: What PyTorch's builds for GPUs bring, in versions that they say themselves.
OF_GPUS = re.compile(r"nvidia-|cuda-|triton$")
LANES = ("vetting", "compressed", "importance", "stateful", "libraries", "remotes")

#: Distributions whose modules have other names.
MODULES = {"scikit-learn": "sklearn", "adversarial-robustness-toolbox": "art"}


def modules_of(requirements):
    names = (Requirement(text).name for text in requirements)
    return {MODULES.get(name, name.replace("-", "_")) for name in names if name != "asterism"}


def brought_by(extra):
    """Modules of an extra, with those of the extras that it has in it."""
    listed = PROJECT["optional-dependencies"][extra]
    inner = [Requirement(text) for text in listed if text.startswith("asterism[")]
    others = [brought_by(name) for one in inner for name in one.extras]
    return modules_of(listed).union(*others)


def locked():
    """The version of each package of requirements.lock."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [line.partition("==") for line in lines if re.match(r"[a-z0-9]\S*==", line)]
    return {canonicalize_name(name): version for name, _, version in pins}


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_takes_the_first_release_of_each_python(python):
    """Installing on a later 3.11 does not show that a package rejects an earlier one."""
    rejected = {}
    for name in locked():
        try:
            wanted = metadata.metadata(name).get("Requires-Python", "")
        except metadata.PackageNotFoundError:
            continue  # of an extra that is not installed here
        if not SpecifierSet(wanted).contains(f"{python}.0"):
            rejected[name] = wanted
    assert rejected == {}


def needed(name, extra, python):
    """What a package needs on a Python, or one of its extras does."""
    there = {"python_version": python, "python_full_version": f"{python}.0", "extra": extra}
    try:
        requirements = map(Requirement, metadata.requires(name) or [])
    except metadata.PackageNotFoundError:
        return []  # of an extra that is not installed here
    of_all = [one for one in requirements if not OF_GPUS.match(one.name)]
    return [one for one in of_all if not one.marker or one.marker.evaluate(there)]


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_has_all_that_is_needed_on_each_python(python):
    """As the packages that are installed here say it, which were resolved on one of them."""
    pins, wrong, seen = locked(), set(), set()
    wanted = [("asterism", extra) for extra in ("", "all", "dask", "dev")]
    while wanted:
        if (asked := wanted.pop()) in seen:
            continue
        seen.add(asked)
        for requirement in needed(*asked, python):
            name = canonicalize_name(requirement.name)
            pinned = name in pins and requirement.specifier.contains(pins[name])
            if name != "asterism" and not pinned:
                wrong.add(str(requirement))
            wanted += [(name, extra) for extra in ("", *requirement.extras)]
    assert wrong == set()


def test_every_module_is_in_its_extra_and_not_in_the_plain_installation():
    assert modules_of(PROJECT["dependencies"]).isdisjoint(EXTRAS)
    for module, extra in EXTRAS.items():
        assert module in brought_by(extra), module
    assert brought_by("all") == EXTRAS.keys()
    assert set().union(*map(brought_by, LANES)) == EXTRAS.keys()


def test_everything_that_is_installed_for_development_is_pinned():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    listed = [*PROJECT["dependencies"]]
    for extra in (*LANES, "dask", "dev"):
        listed += PROJECT["optional-dependencies"][extra]
    for name in {Requirement(text).name for text in listed} - {"asterism"}:
        assert f"\n{canonicalize_name(name)}==" in lock, name
    assert " @ " not in lock, "a checkout is not pinned"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--extra all --extra dask --extra dev" in makefile


def test_only_modules_of_extras_are_named():
    line = missing_extra(ModuleNotFoundError("x", name="keras.layers"))
    assert line == "keras is not installed: run `pip install 'asterism[vetting]'`"
    assert missing_extra(ModuleNotFoundError("x", name="a_module_of_mine")) is None
    assert missing_extra(ModuleNotFoundError("x")) is None
    assert missing_extra(ValueError("keras")) is None


def test_every_stage_has_the_extra_of_its_lane(monkeypatch):
    monkeypatch.chdir(ROOT)
    for heading, stages in lanes().items():
        extra = heading.partition(":")[0].replace("all lanes", "all")
        assert {extra_of(stage) for stage in stages} == {extra}
    assert extra_of("none") == ""
    line = missing_extra(ModuleNotFoundError("x", name="keras"), extra_of("fuzz"))
    assert line == "keras is not installed: run `pip install 'asterism[stateful]'`"


@pytest.mark.parametrize("module", ["torch", "torchao"])
def test_the_line_names_what_brings_pytorch_in_every_stage(module):
    for lane in (*LANES[:-1], "all"):
        line = missing_extra(ModuleNotFoundError("x", name=module), lane)
        named = re.search(r"asterism\[(.+)\]", line)[1].split(",")
        assert module in set().union(*map(brought_by, named)), lane


def test_a_stage_without_its_extra_ends_with_one_line(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stages").mkdir()
    script = "raise ModuleNotFoundError('No module named jax', name='jax')\n"
    (tmp_path / "stages/one.py").write_text(script)
    monkeypatch.setattr("asterism.core.running.stage.divert_native_messages", lambda path: None)
    assert main(tmp_path / "stages", ["one"], lambda: None) == 1
    said = capfd.readouterr().err
    assert said == "error: one: jax is not installed: run `pip install 'asterism[libraries]'`\n"


@pytest.mark.parametrize("name", ["openvino", None])
def test_a_command_without_its_extra_ends_with_one_line(monkeypatch, capsys, name):
    def fail(**_):
        raise ModuleNotFoundError("No module", name=name)

    monkeypatch.setattr(commands, "app", fail)
    with pytest.raises(SystemExit) as end:
        cli.run()
    assert end.value.code == 1
    told = capsys.readouterr().err
    assert told.startswith("error: openvino is not installed: run `pip" if name else "Traceback")


def test_a_file_that_cannot_be_read_without_an_extra_says_so():
    with pytest.raises(UserError, match=r"a\.keras: keras .*`pip"), reading("a.keras"):
        raise ModuleNotFoundError("No module named 'keras'", name="keras")


def test_what_vets_onnx_files_imports_nothing_of_an_extra(tmp_path):
    for module in EXTRAS:
        (tmp_path / module).mkdir()
        told = f"raise ModuleNotFoundError('no {module}', name={module!r})\n"
        (tmp_path / module / "__init__.py").write_text(told)
    stages = [ROOT / f"stages/{name}.py" for name in ("vet_measure", "vet_search", "vet_page")]
    stages += [ROOT / "stages/vet_repair.py"]
    scripts = "".join(
        f"from {found[1]} import {found[2]}\n"
        for stage in stages
        for found in re.finditer(r"^ *from (asterism[\w.]+) import (\w+)", stage.read_text(), re.M)
    )
    scripts += "import asterism.cli, asterism.sweep.app, asterism.sweep.worker, asterism.config\n"
    scripts += "import asterism.asking.question, asterism.asking.model_description\n"
    scripts += "import asterism.doctor.software\n"
    path = f"{tmp_path}:{ROOT / 'src'}"
    done = subprocess.run(
        [sys.executable, "-c", scripts],
        env={"PYTHONPATH": path, "PATH": str(Path(sys.executable).parent)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
