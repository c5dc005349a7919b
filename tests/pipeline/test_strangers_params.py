"""Parameters from a stranger are data: names in them reach no shell and no folder but their own."""

import shutil
from pathlib import Path

import pytest
import yaml
from sharing import call
from small_pipeline import Project, asterism
from workspace import ROOT, commit

pytestmark = pytest.mark.slow

#: A stage for each pair, as the pipeline has them, quoted and not.
PAIRS = """\
  pair:
    foreach: ${pairs}
    do:
      cmd: echo ${key}
      deps: ['${item.original}']
      outs: ['artifacts/pair/${key}']
"""

RUNS = {
    "repro": asterism("repro", "--jobs", "2"),
    "sweep": asterism("sweep", "--name", "s", "seed=1"),
    "pull": asterism("pull"),
    "check": asterism("check"),
}


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """The small pipeline with a stage for each pair, and a folder of the user's."""
    project = Project(tmp_path_factory.mktemp("pristine"))
    with (project.root / "dvc.yaml").open("a") as file:
        file.write(PAIRS)
    (project.root / "mine").mkdir()
    (project.root / "mine/file").write_text("mine")
    commit(project.root, "pairs")
    return project


@pytest.fixture
def project(pristine, tmp_path):
    return Project(tmp_path, copied=pristine)


def write_pairs(project, pairs):
    path = project.root / "params.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"pairs": pairs}))
    commit(project.root, "a stranger's parameters")


def require_rejected(project, command, told):
    status, output = call(project, *command, check=False)
    assert not (project.root / "touched").exists(), output
    assert (project.root / "mine/file").exists(), output
    assert status != 0, output
    assert told in output
    assert "Traceback" not in output
    assert project.ran() == []


FILES = {"original": "conf/no_file", "compressed": "conf/no_file"}


@pytest.mark.parametrize("command", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("name", ["x;touch touched", "../../mine", "x\ntouch touched"])
def test_a_name_runs_no_command_and_removes_no_folder(project, command, name):
    write_pairs(project, {name: FILES})
    require_rejected(project, command, f"params.yaml: pairs: {name!a} cannot be a name")


def test_a_template_in_a_value_is_no_template(project):
    """DVC fills templates of dvc.yaml in once."""
    write_pairs(project, {"a": FILES | {"original": "${rnn.path}"}})
    _, output = call(project, *asterism("repro", "pair@a"), check=False)
    assert "${rnn.path}" in output


def test_a_stage_that_would_empty_a_folder_of_the_users_is_rejected(project):
    path = project.root / "dvc.yaml"
    path.write_text(path.read_text().replace("outs: ['artifacts/pair/${key}']", "outs: [mine]"))
    write_pairs(project, {"a": FILES})
    call(project, "git", "rm", "-rq", "--cached", "mine")
    require_rejected(project, asterism("repro"), "stage pair@a writes 'mine'")


def test_no_file_in_the_source_stands_in_for_a_library(tmp_path, project):
    """Python would look for a stage's imports beside its script and in ``src`` first."""
    for place in ("src/yaml.py", "src/json.py", "stages/yaml.py", "stages/json.py"):
        (project.root / place).write_text(f"open({str(tmp_path / 'owned')!r}, 'w').close()\n")
    shutil.copy(ROOT / "stages/library_versions.py", project.root / "stages")
    environment = {"PYTHONPATH": ""}
    output = call(project, "python", "stages", "library_versions", "--help", **environment)
    assert not (tmp_path / "owned").exists(), output
    probe = project.root / "stages/where.py"
    probe.write_text("import asterism\n\nraise SystemExit(asterism.__file__)\n")
    _, output = call(project, "python", "stages", "where", check=False, **environment)
    assert output.strip() == str(project.root / "src/asterism/__init__.py")
    assert Path(output.strip()).is_file()
