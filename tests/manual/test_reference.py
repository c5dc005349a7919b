"""The reference pages are what the program itself says, and leave nothing out."""

import doctest
import re
import sys

import pytest
import yaml
from manual_pages import unexplained

from places import ROOT

sys.path.append(str(ROOT / "docs"))

from fits_table import lanes, table, with_table
from write_reference import ABSENT, PAGES, PLUGINS, pages, rows_of

import asterism
from asterism.cli.commands import app
from asterism.config import Params
from asterism.core.messages.errors import UserError
from asterism.models.formats import open_runtime
from asterism.models.recurrent.opening import open_rnn


@pytest.fixture(scope="module")
def written():
    """Every page as the program has it to be, by its name."""
    return pages()


def test_every_page_is_current(written):
    for name, text in written.items():
        assert (PAGES / name).read_text(encoding="utf-8") == text, f"{name}: run `make reference`"


def meanings(page):
    """What each row of a page's tables has below the head "meaning"."""
    for line in page.splitlines():
        if not line.startswith("| "):
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if "meaning" in cells:
            column = cells.index("meaning")
        elif cells[1] != "---":
            yield cells[column]


def test_the_table_of_what_fits_is_current_in_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == with_table(text), "run `make reference`"
    assert table() in text and text.count("](docs/vetting.md)") >= 1


def test_what_the_table_says_of_formats_is_so(tmp_path):
    """A file of every suffix is read by its lane's reader, or rejected for what is in it."""
    formats = {lane.name: lane.formats for lane in lanes()}
    for lane, opens in {
        "vetting": open_runtime,
        "stateful": lambda path: open_rnn(path, None, isolated=False),
    }.items():
        for suffix in re.findall(r"`(\.\w+)`", formats[lane]):
            path = tmp_path / f"model{suffix}"
            path.write_bytes(b"nothing that a model is")
            with pytest.raises(UserError) as told:
                opens(path)
            said = str(told.value)
            assert "has the suffix" not in said and "the suffix must" not in said, suffix
        path = tmp_path / "model.pt"
        path.write_bytes(b"x")
        with pytest.raises(UserError, match=r"\.keras"):
            opens(path)


def test_every_name_that_programs_may_import_is_on_the_page_of_the_interface():
    page = (PAGES / "api.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\.\. auto\w+:: asterism\.(?:\w+\.)*(\w+)$", page, re.MULTILINE)
    assert "`asterism.__version__`" in page
    assert set(asterism.__all__) - {"__version__"} <= set(documented)


def test_every_parameter_and_every_option_has_a_meaning(written):
    for name in ("parameters.md", "plug-ins.md"):
        found = list(meanings(written[name]))
        assert len(found) > 100, name
        assert not {"", ABSENT} & set(found), name


def test_a_parameter_of_a_paper_names_the_place(written):
    page = written["parameters.md"]
    assert re.search(r"^\| `abstraction\.k` .* DeepStellar, section 3\.2 \|$", page, re.MULTILINE)
    assert re.search(r"^\| `generate\.p` .* MEMO, Algorithm 2 \|$", page, re.MULTILINE)


def leaves(values, path=""):
    """The path of every value of params.yaml that is no mapping."""
    for name, value in values.items():
        yield from leaves(value, f"{path}{name}.") if isinstance(value, dict) else [path + name]


def test_every_value_of_params_yaml_is_a_parameter_or_lies_in_one():
    values = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    listed = {path for path, _, _ in rows_of(Params, [values])}
    assert len(listed) > 150
    plain = {path for path in listed if " (" not in path and "NAME" not in path}
    known = {path.split(".")[0].split(" ")[0] for path in listed}
    for leaf in leaves(values):
        assert leaf.split(".")[0] in known, leaf
    for path in plain:
        section, _, rest = path.partition(".")
        if section not in values:  # an experiment has it, and params.yaml of the defaults not
            assert Params.model_fields[section].default is None, path
            continue
        assert not rest or rest.split(".")[0] in values[section], path


def test_every_stage_and_every_command_has_its_heading(written):
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    for stage in stages:
        assert f"\n### {stage}\n" in written["stages.md"], stage
    for command in app.registered_commands:
        assert f"\n## {command.name or command.callback.__name__}\n" in written["commands.md"]


def test_every_plug_in_has_its_row(written):
    assert written["plug-ins.md"].count("\n## ") == len(PLUGINS)
    for name in ("dflare", "fgsm", "top_label", "average_blur", "k_multisection", "openvino"):
        assert f"| **`{name}`** |" in written["plug-ins.md"], name


def test_every_metric_of_the_runs_that_are_here_is_explained():
    # Those of the tutorials are there for every run of their tests.
    assert not unexplained(ROOT)


def test_the_examples_of_the_python_interface_run():
    result = doctest.testfile(str(PAGES / "api.md"), module_relative=False)
    assert result.attempted > 15
    assert not result.failed
