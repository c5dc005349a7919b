"""The library lane's section on what a small run leaves."""

import re
import shutil

import polars as pl
import pytest

from asterism.core.files.artifacts import read_json, read_table, write_json, write_table
from asterism.core.messages.errors import UserError
from asterism.differential.oracle.unsupported import unsupported_table
from asterism.report.lanes import libraries
from asterism.report.lanes.libraries import libraries_section
from report.library_results import SCRIPT, write_library_results
from report.page_parts import unfolded


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries")
    write_library_results(folder)
    return folder


@pytest.fixture(scope="module")
def body(workspace):
    return unfolded(libraries_section(workspace).body)


@pytest.fixture
def copied(workspace, tmp_path):
    """The workspace, to change at will."""
    return shutil.copytree(workspace, tmp_path / "copied")


def test_the_section_shows_growth_tables_models_and_scripts(body):
    # Three curves of growth, and the smallest model of each finding.
    assert body.count("<svg") == 3 + 2
    for kind in ("layer types", "layer pairs", "layer parameters"):
        assert f"share of {kind} covered" in body
    assert body.count("&lt;the bug lives&gt;") == 2
    assert "smallest model" in body
    assert (
        body.count("not minimal, reduced from 9 layers to 4: stopped by triage.max_steps=9.") == 2
    )
    assert "0.0% of the models run" in body
    assert "table 4" in body and "table 5" in body
    assert "litert:tflite was left out" in body
    assert "3 more groups" in body
    assert not re.search(r'(src|href)="(?!data:|#)', body)


def test_strategies_stand_in_the_pages_order_with_a_new_one_last(copied, drawn):
    path = copied / "plots/generate_models/growth.csv"
    rows = read_table(path)
    new = rows.filter(pl.col("strategy") == "memo").with_columns(strategy=pl.lit("a_new_one"))
    write_table(path, pl.concat([rows, new]))
    figures = drawn(libraries)
    libraries_section(copied)
    growth = [shown for name, shown in figures.items() if name.startswith("growth")]
    assert len(growth) == 3
    for shown in growth:
        (axes,) = shown.figure.axes
        assert [line.get_label() for line in axes.lines] == [
            *(libraries.STRATEGIES[name] for name in ("memo", "memo_r", "cradle")),
            "a_new_one",
        ]


def test_the_section_says_which_budget_ended(body, copied):
    told = "not examined: the limit <code>triage.max_unique</code> was reached"
    text = re.sub(r"\s+", " ", body)
    assert told in text and "time limit" not in text
    path = copied / "metrics/triage_findings.json"
    write_json(path, {**read_json(path), "groups_left_by_time": 3, "not_minimal_by_time": 1})
    text = re.sub(r"\s+", " ", unfolded(libraries_section(copied).body))
    assert "<code>triage.minutes</code>" in text
    assert "1 of the models below" in text
    assert "the limit <code>triage.max_unique" not in text


def test_what_is_unsupported_is_listed_by_layer_type(body):
    table = body[body.index("<th>layer type</th>") :].partition("</table>")[0]
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in table.split("<tr>")[1:]]
    assert rows == [
        ["mxnet@1.9.1:tf2onnx", "LSTM", "18", "0", "LSTM 18"],
        ["mxnet@1.9.1:tf2onnx", "Dense", "7", "5", "LSTM 5, TopK 2"],
        ["openvino_keras:predict", "GRU", "3", "0", ""],
    ]


def test_a_run_that_supports_all_has_no_such_table(copied):
    write_table(copied / "artifacts/judge_models/unsupported.csv", unsupported_table([], []))
    assert "<th>layer type</th>" not in libraries_section(copied).body


def test_a_picture_shows_what_is_off_the_default(body):
    picture = re.sub(
        r"\s", "", re.sub(r"<[^>]*>", "", body[body.index("the smallest model found, ") :])
    )
    caption = picture[picture.index("LSTM(") :].partition(")")[0]
    told = {"units=4", "recurrent_activation=relu", "go_backwards=True", "return_sequences=True"}
    assert set(caption.removeprefix("LSTM(").split(",")) == told


def test_a_finding_says_what_is_out_of_the_ordinary_with_it(body):
    hang, differs = (re.sub(r"\s+", " ", part) for part in body.split("<h5>")[1:])
    assert "Inputs: empty." in hang and "is NaN" not in hang
    assert "normal, wide" in differs
    assert "with a special weight" in differs and "with a special weight" not in hang


def test_the_table_of_reduction_has_the_work_before_and_after(body):
    table = body[: body.index("Coverage of the layer universe")]
    assert table.count("<th>multiplications</th>") == 1
    assert "<td>6,000</td><td>1,500</td>" in table and "25.0%" in table
    assert "logs/reduce_models.seconds.json" in table


def test_limits_and_what_no_script_shows_stand_apart(copied):
    folder = copied / "artifacts/triage_findings"
    limit, other = read_json(folder / "unique.json")
    limit |= {"limit": "it computes in bfloat16", "folder": f"known-limits/{limit['folder']}"}
    other |= {"confirmed": [1, 0, 1], "folder": f"not-reproduced/{other['folder']}"}
    for one in (limit, other):
        (folder / one["folder"]).mkdir(parents=True)
        (folder / one["folder"] / "repro.py").write_text(SCRIPT)
    write_json(folder / "unique.json", [limit, other])
    text = unfolded(libraries_section(copied).body)
    places = [text.index(t) for t in ("Known limits", "bfloat16", "Not reproduced")]
    assert places == sorted(places) and "Confirmed by a script" not in text
    write_json(folder / "unique.json", [{**limit, "limit": ""}])
    with pytest.raises(UserError, match="no name of a folder"):
        libraries_section(copied)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("folder", "../../secret"),
        ("folder", ".."),
        ("folder", "/secret"),
        ("graph", {"nodes": [{"type": "Lambda"}]}),
        ("folder", "none"),
    ],
)
def test_a_list_of_findings_leads_to_nothing_outside_of_its_folder(copied, key, value):
    (copied / "secret").mkdir()
    (copied / "secret/repro.py").write_text("a secret")
    path = copied / "artifacts/triage_findings/unique.json"
    unique = read_json(path)
    value = str(copied / "secret") if value == "/secret" else value
    write_json(path, [{**unique[0], key: value}])
    with pytest.raises(UserError, match="triage_findings"):
        libraries_section(copied)
