"""Collecting findings: one folder for each cause, and pages that say what is there."""

import json
from dataclasses import replace

import pytest
from small_findings import candidate, entry

from asterism.core.files.artifacts import write_json
from asterism.core.messages.errors import UserError
from asterism.findings.campaign import folder_of_pieces
from asterism.findings.causes import same_place
from asterism.findings.collecting import Collected, candidates_of, collect, unique_of
from asterism.findings.entry import Entry, place_of, read_entries
from asterism.findings.gathering import note_links
from asterism.findings.page import (
    Verdict,
    campaign_page,
    index_page,
    read_verdicts,
    write_pages,
)
from asterism.libraries.reporting.known_issues import KnownIssue
from rights import entered_by_others

FACTS = {
    "pieces": [
        {"models": 30, "seconds": 1800.0, "processor_seconds": 900.0, "seconds_executing": 900.0}
    ],
    "coverage": {"types": 0.5, "parameters": 0.25, "inputs": 0.1},
    "counts": {"merged": 2, "limits": 3, "unconfirmed": 1, "large": 0},
    "operators": {"models": 429},
}


def test_what_has_the_cause_of_another_finding_gets_no_folder(tmp_path):
    first, second = candidate(tmp_path, "one"), candidate(tmp_path, "two")
    third = candidate(tmp_path, "three", layer="Dense")
    outcome = Collected()
    target = tmp_path / "findings"
    collect([first, second, third], [], target, lambda one, other: True, outcome)
    assert outcome.new == ["one", "three"]
    assert outcome.merged == 1
    kept = {e.name: e for e in read_entries(target)}
    assert kept["one"].also == (second.entry.signature,)
    assert kept["one"].models == 2
    assert (target / "three" / "check.py").exists()


def test_two_findings_in_one_place_are_kept_where_neither_shows_the_other(tmp_path):
    found = [candidate(tmp_path, "one"), candidate(tmp_path, "two")]
    outcome = Collected()
    collect(found, [], tmp_path / "findings", lambda one, other: False, outcome)
    assert (outcome.new, outcome.merged) == (["one", "two"], 0)


def test_triage_knows_what_is_collected_but_no_bare_exceptions(tmp_path):
    one = candidate(tmp_path, signature="values differ | jax | ReLU()", also=("a | b at c | d",))
    bare = candidate(tmp_path, "bare", signature="runtime crash | jax | TypeError")
    by_hand = replace(candidate(tmp_path, "hand"), graph=None)
    found = unique_of([one, bare, by_hand])
    assert [u.signature for u in found] == ["values differ | jax | ReLU()", "a | b at c | d"]
    assert str(found[0].layer) == "ReLU()" and found[1].layer is None


def test_a_script_that_is_too_large_is_counted_and_not_kept(tmp_path):
    found = candidate(tmp_path, text="#" * 100_000)
    outcome = Collected()
    collect([found], [], tmp_path / "findings", lambda one, other: True, outcome)
    assert (outcome.large, outcome.new) == (1, [])


def test_what_is_a_limit_today_is_counted_as_one_though_triage_did_not_know_it(tmp_path):
    found = {n: candidate(tmp_path, n) for n in ("one", "two", "three")}
    values = [
        {
            "signature": f"values differ | jax | {name}",
            "folder": name,
            "limit": "it is documented" if name == "two" else "",
            "known": "",
            "confirmed": [1, 1, 1],
            "finding": one.finding.to_json(),
            "graph": one.graph.to_json(),
            "layer": "",
            "models": [0],
            "minimality": "minimal",
        }
        for name, one in found.items()
    ]
    write_json(tmp_path / "unique.json", values)
    known = {"| one": KnownIssue("https://there"), "| three": KnownIssue("https://there", "it is")}
    outcome = Collected()
    (left,) = candidates_of(tmp_path, outcome, known)
    assert left.entry.signature == "values differ | jax | one"
    assert outcome.limits == 2


@pytest.mark.parametrize("place", ["", "one", "one/repro.py"])
@pytest.mark.parametrize("confirmed", [[1, 1, 1], [1, 0, 1]])
def test_no_script_is_run_or_taken_that_others_can_write_to(place, confirmed):
    with entered_by_others() as folder:
        one = candidate(folder)
        ran = folder / "ran"
        (folder / "one/repro.py").write_text(f"open({str(ran)!r}, 'w')\nraise SystemExit(1)\n")
        value = {
            "signature": one.entry.signature,
            "folder": "one",
            "limit": "",
            "confirmed": confirmed,
            "finding": one.finding.to_json(),
        }
        write_json(folder / "unique.json", [value])
        (folder / place).chmod(0o777)
        with pytest.raises(UserError, match="chmod go-w"):
            candidates_of(folder, Collected(), {})
        assert not ran.exists()


def test_campaigns_lie_in_a_folder_of_the_users_own(tmp_path, monkeypatch):
    assert folder_of_pieces(None) == tmp_path / "programs/campaign"
    with entered_by_others() as folder:
        assert folder_of_pieces(folder) == folder
        folder.chmod(0o777)
        with pytest.raises(UserError, match="chmod go-w"):
            folder_of_pieces(folder)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("Conv1D", {"padding": "same"}), ("Conv3D", {"padding": "same"}), True),
        (("Conv1D", {"padding": "same"}), ("Conv1D", {"padding": "causal"}), True),
        (("Conv1D", {"padding": "same"}), ("Conv1D", {"strides": "2"}), False),
        (("Conv1D", {"activation": "relu"}), ("Dense", {"activation": "relu"}), True),
        (("Conv1D", {"activation": "relu"}), ("Dense", {"activation": "elu"}), False),
        (("ReduceMax", {}), ("ReduceMin", {}), True),
        (("ReduceMax", {}), ("ReduceSum", {}), False),
    ],
)
def test_places_are_families_of_layers_with_the_parameters_that_are_needed(one, other, same):
    places = [place_of(*given, "values differ") for given in (one, other)]
    assert (places[0] == places[1]) is same


def test_an_operator_lies_in_the_place_of_a_layer_whose_text_has_it(tmp_path):
    text = 'import onnx.parser\nMODEL = """\n   y = Relu (x)\n"""\n'
    layer = candidate(tmp_path, "layer", text=text)
    relu = candidate(tmp_path, "relu", source="operator", layer="Relu")
    elu = candidate(tmp_path, "elu", source="operator", layer="Elu")
    assert same_place(relu, layer)
    assert same_place(layer, relu)
    assert not same_place(elu, layer)


def test_failures_with_other_exceptions_are_other_causes(tmp_path):
    failed = {"symptom": "runtime crash", "library": "jax"}
    one, two, three = (
        candidate(tmp_path, n, finding={"exception": e, "frame": "a.py:f"}, **failed)
        for n, e in (("one", "ValueError"), ("two", "TypeError"), ("three", "ValueError"))
    )
    assert not same_place(one, two)
    assert same_place(one, three)


def test_facts_are_read_as_they_were_written(tmp_path):
    given = entry(also=("a",), elsewhere={"onnxruntime@1.20": "gone"})
    folder = tmp_path / given.name
    folder.mkdir()
    given.write(folder)
    assert [e.to_json() for e in read_entries(tmp_path)] == [given.to_json()]
    facts = json.loads((folder / "finding.json").read_text())
    (folder / "finding.json").write_text(json.dumps({**facts, "models": "many"}))
    with pytest.raises(UserError, match="models"):
        read_entries(tmp_path)


def test_the_index_has_a_line_for_each_finding_and_counts_false_alarms_apart():
    found = [entry("one"), entry("two", severity="special", inputs="nan"), entry("three")]
    text = index_page(found, {"three": Verdict(True, "it is not")})
    assert text.count("/report.md") == 3
    assert "2 distinct findings" in text
    assert "1 show on ordinary inputs" in text
    _, alarms = text.split("## False alarms")
    today, earlier = alarms.split("that earlier oracles called so")
    assert "1 difference that" in today and "(three/report.md)" in today
    assert earlier.count("/report.md") == 0
    text = index_page(found, {"three": Verdict(True, "it is not", mended=True)})
    today, earlier = text.split("## False alarms")[1].split("that earlier oracles called so")
    assert "0 differences that" in today and "(three/report.md)" in earlier


def test_the_index_counts_failures_by_phase_and_those_of_compiled_code():
    failed = {"symptom": "fails"}
    found = [
        entry("one", library="openvino", phase="compiling", **failed),
        entry("two", library="tf2onnx", phase="compiling", **failed),
        entry("three", library="openvino", phase="converting", **failed),
        entry("four", library="torch", phase="running", **failed),
        entry("five", library="tensorflow", phase="plain", **failed),
    ]
    text = index_page(found, {})
    assert "2 are crashes, failures or hangs of compiled code" in text
    assert "| compiling | 1 | 1 |" in text
    assert "| running as it is, uncompiled | 0 | 1 |" in text
    assert "[fails, converting](three/report.md)" in text


def test_findings_are_linked_to_the_issues_that_are_known(tmp_path):
    for name, inputs in (("one", "nan"), ("two", "normal"), ("three", "nan")):
        (tmp_path / name).mkdir()
        entry(name, inputs=inputs).write(tmp_path / name)
    known = {
        "| three": KnownIssue("https://there/3", limit="it is documented"),
        "| jax |": KnownIssue("https://there/issues/12", inputs="nan"),
    }
    note_links(tmp_path, {**known, "| three ": KnownIssue("https://there/3")})
    links = {e.name: e.known for e in read_entries(tmp_path)}
    assert links == {"one": known["| jax |"].link, "two": "", "three": known["| jax |"].link}
    text = index_page(read_entries(tmp_path), {})
    assert "2 are linked to an issue" in text
    assert text.count("[12](https://there/issues/12)") == 2


def test_the_page_of_figures_says_what_the_campaign_took():
    text = campaign_page([entry()], {"one": Verdict(True, "no")}, FACTS)
    assert "| models an hour, while they ran | 120 |" in text
    assert "| models an hour, with triage | 60 |" in text
    assert "| not confirmed, left out | 1 |" in text
    assert "1 of these are false alarms, 100.0%" in text
    text = campaign_page([entry()], {"one": Verdict(True, "no", mended=True)}, FACTS)
    assert "calls 0 differences a wrong result" in text
    assert "Earlier oracles had 1 more false alarms" in text


def test_verdicts_get_into_the_reports_once(tmp_path):
    found = candidate(tmp_path)
    found.entry.write(found.folder)
    (tmp_path / "verdicts.yaml").write_text("one: {false_alarm: false, reason: it is so}\n")
    for _ in range(2):
        write_pages(tmp_path, [found.entry], read_verdicts(tmp_path), FACTS)
    assert (found.folder / "report.md").read_text().count("No false alarm: it is so") == 1
    (tmp_path / "verdicts.yaml").write_text("none: {false_alarm: false, reason: it is so}\n")
    with pytest.raises(UserError, match="there is no finding 'none'"):
        read_verdicts(tmp_path)


def test_an_entry_is_by_values_or_a_failure():
    assert entry().by_values
    assert not entry(symptom="runtime crash").by_values
    assert isinstance(entry(), Entry)
