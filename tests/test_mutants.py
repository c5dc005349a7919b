"""What is told of mutmut's runs, and what they are told."""

import json
import tomllib

import pytest

import mutants


def test_the_same_files_are_drawn_for_a_seed_whatever_else_comes():
    for package in ("images", "core", "dflare"):
        drawn = mutants.drawn(package, 3, 0)
        assert drawn == mutants.drawn(package, 9, 0)[:3] and len(set(drawn)) == 3
        assert all(file.startswith(f"src/asterism/{package}/") for file in drawn)
    assert mutants.drawn("dflare", 3, 0) != mutants.drawn("dflare", 3, 1)


def test_mutmut_is_told_which_files_and_tests(tmp_path):
    for name in ("src", "conf", "tests/criteria", "tests/deepimportance"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    mutants.configure(tmp_path, "criteria", ["src/asterism/criteria/params.py"])
    settings = tomllib.loads((tmp_path / "pyproject.toml").read_text())["tool"]["mutmut"]
    assert settings["only_mutate"] == ["src/asterism/criteria/params.py"]
    chosen = settings["pytest_add_cli_args_test_selection"]
    assert chosen == ["tests/criteria", "tests/deepimportance"]
    assert "conf" in settings["also_copy"] and "src" not in settings["also_copy"]


@pytest.mark.parametrize(("noticed", "status"), [(9, 0), (8, 1)])
def test_too_many_survivors_end_it_with_1(tmp_path, capsys, noticed, status):
    codes = {f"f{n}": 1 if n < noticed else 0 for n in range(10)} | {"later": None}
    path = tmp_path / "mutants/src/asterism/a.py.meta"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"exit_code_by_key": codes}))
    assert mutants.tell({"a": mutants.outcomes(tmp_path)}) == status
    assert capsys.readouterr().out.splitlines()[-1].split() == [
        "all",
        "10",
        str(noticed),
        f"{noticed}0%",
    ]
