"""Collecting findings: one folder for each cause, pages; and a stranger's, which lead nowhere."""

import json
import shutil
from dataclasses import replace

import pytest
from small_findings import GRAPH, SCRIPT, candidate, entry, facts, listed

from asterism.core.files.artifacts import write_json
from asterism.core.messages.errors import UserError
from asterism.differential.report.writing import KnownIssue
from asterism.findings.audit import audit_lines, unlike_audit
from asterism.findings.campaign import folder_of_pieces
from asterism.findings.checking import check_all, note_elsewhere
from asterism.findings.collecting import Collected, add_by_hand, candidates_of, collect, unique_of
from asterism.findings.diagnosis import DIFFERENCE, NO_FAULT, WRONG, Diagnosis
from asterism.findings.entry import CollectedFinding, place_of, read_collection
from asterism.findings.gathering import note_links
from asterism.findings.occurrences import (
    FindingOccurrence,
    confirmed_candidates,
    have_one_cause,
    same_place,
)
from asterism.findings.pages import campaign_page, index_page, report_of, write_pages
from asterism.memo.graphs.keras_build import layer_name
from libraries.small_results import chained, made_finding
from memo.small_graphs import layer
from rights import entered_by_others

PIECE = {"models": 30, "seconds": 1800.0, "processor_seconds": 900.0, "seconds_executing": 900.0}
FACTS = facts(pieces=[PIECE])


def shown(backend, function, symptom="values differ", source="hand"):
    """What a backend shows of a function."""
    library = backend.partition(":")[0]
    return CollectedFinding.seen(source, library, symptom, function, {}, "normal", backend)


def test_what_has_the_cause_of_another_finding_gets_no_folder(tmp_path):
    first, second = candidate(tmp_path, "one"), candidate(tmp_path, "two")
    third = candidate(tmp_path, "three", layer="Dense")
    outcome = Collected()
    target = tmp_path / "findings"
    collect([first, second, third], [], target, outcome)
    assert outcome.new == ["one", "three"]
    assert outcome.merged == 1
    kept = {e.name: e for e in read_collection(target)}
    assert kept["one"].also == (second.entry.signature,)
    assert kept["one"].models == 2
    assert sorted(path.name for path in (target / "three").iterdir()) == [
        "finding.yaml",
        "repro.py",
    ]


def test_a_cause_is_a_candidate_where_three_processes_show_it(tmp_path):
    seen = [
        FindingOccurrence(status, shown("jax:jit", f"f{status}", source="call"), (str(status),))
        for status in (1, 0)
    ]

    def write(occurrence, folder):
        text = SCRIPT.replace("{status}", str(occurrence.subject))
        (folder / "repro.py").write_text(text)
        return occurrence.entry

    def found(writer, is_new=lambda signature, others: True):
        return [c and c.entry.layer for c in confirmed_candidates(seen, writer, tmp_path, is_new)]

    assert sorted(found(write), key=str) == [None, "f1"]
    assert found(write, lambda signature, others: "f1" in signature) == ["f1"]
    assert found(lambda *_: None) == [None, None]


def test_one_cause_is_one_symptom_in_one_place(tmp_path):
    one, two = candidate(tmp_path, "one"), candidate(tmp_path, "two", inputs="nan")
    other = candidate(tmp_path, "three", symptom="NaN/Inf mask differs")
    assert have_one_cause(one, two) and not have_one_cause(one, other)
    named = candidate(tmp_path, "four", layer="Dense", signature=one.entry.signature)
    assert have_one_cause(one, named)


def test_triage_knows_what_is_collected_but_no_bare_exceptions(tmp_path):
    one = candidate(tmp_path, signature="values differ | jax | ReLU()", also=("a | b at c | d",))
    bare = candidate(tmp_path, "bare", signature="error | jax | TypeError")
    for name in ("one", "bare"):
        write_json(tmp_path / name / "model.json", GRAPH.to_json())
    by_hand = candidate(tmp_path, "hand", source="hand")
    found = unique_of(tmp_path, [c.entry for c in (one, bare, by_hand)])
    assert [u.signature for u in found] == ["values differ | jax | ReLU()", "a | b at c | d"]
    assert str(found[0].layer) == "ReLU()" and found[1].layer is None


def test_a_script_that_is_too_large_is_counted_and_not_kept(tmp_path):
    found = candidate(tmp_path, text="#" * 100_000)
    outcome = Collected()
    collect([found], [], tmp_path / "findings", outcome)
    assert (outcome.large, outcome.new) == (1, [])


def test_what_is_a_limit_today_is_counted_as_one_though_triage_did_not_know_it(tmp_path):
    for name in ("one", "two", "three"):
        candidate(tmp_path, name)
    limits = {"two": "it is documented"}
    values = [listed(name, limit=limits.get(name, "")) for name in ("one", "two", "three")]
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
        value = listed(signature=one.entry.signature, confirmed=confirmed)
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


@pytest.mark.parametrize(
    ("function", "operator", "same"),
    [
        ("jax.nn.leaky_relu", "LeakyRelu", True),
        ("jax.nn.relu of a view", "Relu", True),
        ("jax.nn.relu", "Elu", False),
    ],
)
def test_a_function_lies_in_the_place_of_an_operator_of_its_name(
    tmp_path, function, operator, same
):
    call = candidate(tmp_path, "call", source="call", layer=function)
    assert same_place(call, candidate(tmp_path, "two", source="operator", layer=operator)) is same


@pytest.mark.parametrize(("symptom", "blamed"), [("error", "ReLU"), ("values differ", "Dense")])
def test_a_failure_is_the_layers_that_its_message_names(tmp_path, symptom, blamed):
    graph = chained((3,), layer("ReLU"), layer("Dense", units=2))
    first = graph.layers[0]
    message = f"{layer_name(first, graph.nodes[first])} cannot be compiled"
    finding = made_finding(symptom, message=message)
    write_json(tmp_path / "one/model.json", graph.to_json())
    signature = f"{symptom} | jax | ValueError at a.py:f"
    kept = entry(symptom=symptom, finding=finding.to_json(), signature=signature)
    (found,) = unique_of(tmp_path, [kept])
    assert str(found.layer).startswith(blamed)


def test_failures_with_other_exceptions_are_other_causes(tmp_path):
    failed = {"symptom": "error", "library": "jax"}
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
    assert [e.to_json() for e in read_collection(tmp_path)] == [given.to_json()]
    text = (folder / "finding.yaml").read_text()
    (folder / "finding.yaml").write_text(text.replace("models: 1", "models: many"))
    with pytest.raises(UserError, match="models"):
        read_collection(tmp_path)


def told(kind, **given):
    return Diagnosis(f"{kind} of one", kind, "jax", **given)


def test_the_index_has_a_table_for_each_kind_and_counts_wrong_results_first():
    found = [
        entry("one", told=told(WRONG, upstream=("https://there/1",))),
        entry("two", told=told(WRONG), severity="special"),
        entry("three", told=told(WRONG, duplicate_of="one")),
        entry("four", told=told(DIFFERENCE)),
        entry("five"),
    ]
    text = index_page(found)
    assert text.count("/report.md") == 5
    assert text.index("2 wrong results") < text.index("1 of them show on ordinary inputs")
    tables = dict(part.split("\n", 1) for part in text.split("\n## ")[1:])
    counts = {head: table.count("/report.md") for head, table in tables.items()}
    assert counts["Wrong result: 2"] == 2 and "(three/" in tables["Duplicate: 1"]
    assert "known: https://there/1" in tables["Wrong result: 2"]
    assert counts["Difference: 2"] == 2  # nothing is called wrong before a person has read it


def test_a_report_is_in_the_template_of_the_library_that_has_to_be_changed(tmp_path):
    found = candidate(tmp_path, told=told(WRONG, because="it is <so>"), library="tensorflow")
    for library, heading in (("openvino", "OpenVINO Version"), ("pytorch", "🐛 Describe the bug")):
        one = replace(found.entry, told=replace(found.entry.told, mended_by=library))
        text = report_of(one, found.folder)
        assert f"### {heading}" in text
        assert "it is &lt;so>" in text and (found.folder / "repro.py").read_text() in text


def test_the_audit_names_each_finding_that_disagrees_with_its_class():
    found = [
        entry("one", told=told(WRONG, audit="A")),
        entry("two", told=told(DIFFERENCE, audit="A", audit_note="it is NaN")),
        entry("three", told=told(WRONG, audit="D", duplicate_of="one")),
        entry("four", told=told(DIFFERENCE)),
    ]
    assert [e.name for e in unlike_audit(found)] == ["two"]
    lines = audit_lines(found)
    assert "3 findings were audited." in lines
    assert lines[-1] == "A | difference | two | it is NaN"


def test_findings_are_linked_to_the_issues_that_are_known(tmp_path):
    for name, inputs in (("one", "nan"), ("two", "normal"), ("three", "nan")):
        (tmp_path / name).mkdir()
        entry(name, inputs=inputs).write(tmp_path / name)
    known = {
        "| three": KnownIssue("https://there/3", limit="it is documented"),
        "| jax |": KnownIssue("https://there/issues/12", inputs="nan"),
    }
    note_links(tmp_path, {**known, "| three ": KnownIssue("https://there/3")})
    links = {e.name: e.diagnosis.upstream for e in read_collection(tmp_path)}
    assert links == {name: (known["| jax |"].link,) * (name != "two") for name in links}


def test_the_page_of_figures_says_what_the_campaign_took_and_what_reports_were():
    found = [entry("one", told=told(DIFFERENCE)), entry("two", told=told(NO_FAULT))]
    text = campaign_page(found, FACTS)
    assert "| models an hour, while they ran | 120 |" in text
    assert "| models an hour, with triage | 60 |" in text
    assert "| not confirmed, left out | 1 |" in text
    assert "calls 1 differences a wrong result" in text and "100%" in text


def test_what_a_person_told_gets_into_the_report_and_stays(tmp_path):
    found = candidate(tmp_path, told=told(WRONG, because="it is so"))
    found.entry.write(found.folder)
    for _ in range(2):
        write_pages(tmp_path, read_collection(tmp_path), FACTS)
    assert (found.folder / "report.md").read_text().count("it is so") == 1


FAULTY = "import sys\nprint('expected', 1)\nprint('actual  ', {factor})\nsys.exit({factor} != 1)\n"


def add(script, collection, symptom="values differ", title=""):
    return add_by_hand(
        script, shown("numpy:eager", "np.ones", symptom), ["numpy"], title, collection
    )


def test_a_script_that_shows_it_gets_a_folder(tmp_path):
    script = tmp_path / "seen.py"
    script.write_text(FAULTY.format(factor=2))
    collection = tmp_path / "findings"
    entry = add(script, collection, title="ones gives twos")
    assert [e.name for e in read_collection(collection)] == [entry.name]
    assert entry.source == "hand"
    assert (collection / entry.name / "repro.py").read_text() == FAULTY.format(factor=2)
    assert entry.ran.output.split() == ["expected", "1", "actual", "2"]
    assert entry.diagnosis.title == "ones gives twos"


@pytest.mark.parametrize(
    ("name", "factor", "symptom", "said"),
    [
        ("seen.py", 1, "values differ", "is not confirmed"),
        ("none.py", 2, "values differ", r"there is no script .*none\.py"),
        ("seen.py", 2, "odd", "'odd' is none of"),
    ],
)
def test_a_script_that_shows_no_known_symptom_gets_none(tmp_path, name, factor, symptom, said):
    (tmp_path / "seen.py").write_text(FAULTY.format(factor=factor))
    with pytest.raises(UserError, match=said):
        add(tmp_path / name, tmp_path / "findings", symptom)
    assert not (tmp_path / "findings").exists()


OUT = ["..", "../mine", "../../mine", "{root}/mine", "link", "link/x", ".", "x/../../mine"]


@pytest.fixture
def collection(tmp_path):
    """A collection of one finding, beside a folder of the user's with files of the same names."""
    made = candidate(tmp_path / "findings")
    made.entry.write(made.folder)
    mine = tmp_path / "mine"
    shutil.copytree(made.folder, mine)
    (mine / "repro.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w').close()\n")
    (made.folder.parent / "link").symlink_to(mine)
    return made.folder.parent


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def entries_out(collection):
    for one in read_collection(collection):
        list(check_all(collection, [one]))
        list(note_elsewhere(collection, [one], []))
        write_pages(collection, [one], facts())


@pytest.mark.parametrize("name", OUT)
def test_the_name_in_a_findings_facts_leads_nowhere(collection, tmp_path, name):
    (collection / "link").unlink()
    facts = collection / "one/finding.yaml"
    name = name.format(root=tmp_path)
    facts.write_text(facts.read_text().replace("  name: one\n", f"  name: {json.dumps(name)}\n"))
    before = content(tmp_path / "mine")
    with pytest.raises(UserError, match=r"one/finding\.yaml"):
        entries_out(collection)
    assert not (tmp_path / "owned").exists() and content(tmp_path / "mine") == before


@pytest.mark.parametrize("link", ["two", "one/report.md", "one/repro.py", "one/finding.yaml"])
def test_a_link_in_a_collection_is_not_followed(collection, tmp_path, link):
    (collection / "link").unlink()
    if link != "two":
        (collection / link).unlink(missing_ok=True)
    (collection / link).symlink_to(tmp_path / "mine" / "/".join(link.split("/")[1:]))
    before = content(tmp_path / "mine")
    with pytest.raises(UserError, match=link.rpartition("/")[2]):
        entries_out(collection)
    assert not (tmp_path / "owned").exists() and content(tmp_path / "mine") == before


@pytest.mark.parametrize("name", [*OUT[:-2], "x/../../mine"])
def test_a_list_of_findings_runs_no_script_of_another_folder(collection, tmp_path, name):
    value = listed(folder=name.format(root=tmp_path), confirmed=[0])
    write_json(collection / "unique.json", [value])
    with pytest.raises(UserError, match=r"unique\.json"):
        candidates_of(collection, Collected(), {})
    assert not (tmp_path / "owned").exists()


def test_a_file_behind_a_link_is_not_collected(tmp_path):
    (tmp_path / "secret").write_text("of nobody else")
    found = candidate(tmp_path / "pieces")
    (found.folder / "model.json").symlink_to(tmp_path / "secret")
    with pytest.raises(UserError, match=r"model\.json"):
        collect([found], [], tmp_path / "findings", Collected())
    assert not (tmp_path / "findings/one").exists()
