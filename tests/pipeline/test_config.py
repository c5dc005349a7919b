"""conf/ composes to params.yaml, and every choice in it composes to something valid."""

from pathlib import Path

import pytest
import yaml
from imports import ROOT
from typer.testing import CliRunner

from asterism.cli import app
from asterism.config import Params, compose
from asterism.core.errors import UserError
from asterism.core.params import validate

CONF = ROOT / "conf"
CHOICES = sorted(
    (str(file.parent.relative_to(CONF)), file.stem)
    for file in CONF.glob("*/*.yaml")
    if file.parent.name not in ("experiment", "hydra")
)
EXPERIMENTS = sorted(CONF.glob("experiment/*.yaml"))


def needed(file):
    """A value for every ``???`` of a config file."""
    text = file.read_text(encoding="utf-8")
    head = text.split("\n", 1)[0].split()
    group = head[2] if head[:2] == ["#", "@package"] else file.parent.name

    def missing(tree, path):
        for key, value in tree.items():
            if isinstance(value, dict):
                yield from missing(value, f"{path}.{key}")
            elif value == "???":
                yield f"{path}.{key}=some/file"

    return list(missing(yaml.safe_load(text), group))


def test_params_yaml_is_the_composition_of_the_defaults():
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    assert text == compose(CONF, []), "run `asterism params`"


@pytest.mark.parametrize(("group", "choice"), CHOICES)
def test_every_choice_composes(group, choice):
    overrides = [f"{group}={choice}", *needed(CONF / group / f"{choice}.yaml")]
    validate(Params, yaml.safe_load(compose(CONF, overrides)))


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda f: f.stem)
def test_every_experiment_composes_as_its_first_lines_say(file):
    package, command = file.read_text(encoding="utf-8").splitlines()[:2]
    assert package == "# @package _global_"
    words = command.removeprefix("# ").split()
    assert words[:5] == ["dvc", "exp", "run", "-S", f"+experiment={file.stem}"]
    overrides = [words[i + 1] for i, word in enumerate(words) if word == "-S"]
    validate(Params, yaml.safe_load(compose(CONF, overrides)))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("abstraction.kk=1", "abstraction.kk"),
        ("abstraction.k=0", "abstraction.k is 0"),
        ("data=nope", "nope"),
        ("seed=-1", "seed is -1"),
        ("rnn=file", "rnn.path"),
        ("a b=c", "a b=c"),
        ("data.name=mnists", "conf: data.name: no data set is called 'mnists'; did you mean"),
        ("fuzz.selection.name=probabilit", "conf: fuzz.selection: no selection is called"),
        ("+fuzz.selection.options.gama=3", "fuzz.selection: the selection probability has no"),
        ("fuzz.mutators.scale.low=2", "fuzz.mutators: the mutator scale"),
        ("+fuzz.mutators.scal.low=1", "fuzz.mutators: no mutator is called 'scal'"),
    ],
)
def test_a_wrong_override_is_one_line(override, message):
    with pytest.raises(UserError) as error:
        compose(CONF, [override])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_no_config_holds_a_python_path_or_a_machine_fact():
    for file in CONF.rglob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        assert "_target_" not in text or file.parent.name in ("launcher", "sweeper")


def test_the_command_writes_and_checks(tmp_path, monkeypatch):
    (tmp_path / "conf").symlink_to(CONF)
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    assert runner.invoke(app, ["params", "data=mnist"]).exit_code == 0
    assert yaml.safe_load(Path("params.yaml").read_text())["data"]["name"] == "mnist"
    assert isinstance(runner.invoke(app, ["params", "--check"]).exception, UserError)
    assert runner.invoke(app, ["params"]).exit_code == 0
    assert runner.invoke(app, ["params", "--check"]).exit_code == 0
