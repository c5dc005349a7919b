"""Calls of single functions: texts, workers, judgement, one finding for each cause, scripts."""

import itertools
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from small_findings import entry
from typer.testing import CliRunner

from asterism.core.files.artifacts import write_json
from asterism.core.messages.errors import UserError
from asterism.core.resuming import saved_folders
from asterism.core.resuming.checkpoints import saved_facts
from asterism.core.workers.worker import WorkerLimits
from asterism.differential.engine.tasks import ExecutionOutcome
from asterism.differential.oracle.finding import (
    CRASH,
    ERROR,
    INVALID_INPUTS,
    RIGHT,
    SILENT_ACCEPTANCE,
    UNSUPPORTED,
    Finding,
)
from asterism.differential.report.confirming import run_script
from asterism.differential.report.decisions import ScriptDecision
from collection.calls.call import (
    FRAMEWORKS,
    VARIANTS,
    Call,
    ExecutionVariant,
    Family,
    Input,
    variants_of,
)
from collection.calls.campaign import (
    CALLS,
    CallOutcome,
    count_calls,
    mark_of,
    read_outcomes,
    run_calls,
)
from collection.calls.candidates import call_occurrence, call_occurrences, script_text
from collection.calls.judging import judge_call
from collection.calls.running import (
    FILLS,
    CallProgram,
    CallWorkers,
    PlainRuns,
    TextRun,
    array_text,
)
from collection.calls.table import calls_of
from collection.checking import GONE, LIVES, OTHER, word_of
from collection.commands import app
from collection.occurrences import distinct_causes
from extras import needs
from libraries.small_results import JUDGE
from places import ROOT
from thinning import every

PLAIN = ExecutionVariant("pytorch", "pytorch", "actual = f(*inputs)", checks=True)
FAMILY = Family(
    "pool",
    "pool(x, {size}, pad={pad})",
    ((Input((2, 3)),), (Input((4,)),)),
    {"size": (1, 2), "pad": (0, 1)},
    ("int64",),
)


def ok(*arrays):
    given = tuple(np.asarray(a) for a in arrays)
    ended = ExecutionOutcome(0, "", "run", "ok")
    return TextRun(ended, given, tuple(str(a.dtype) for a in given))


def status_of(indirect, *plain, expression="x.sum()"):
    """What the judge calls a variant's result beside the runs of the plain call."""
    program = CallProgram(Call("pytorch", "sum", expression, (Input((2,)),)), PLAIN)
    return judge_call(program, PlainRuns(*plain), indirect, JUDGE).symptom


def failed(message="wrong size", exception="ValueError", status="error"):
    return TextRun(ExecutionOutcome(0, "", "run", status, exception, message, "torch/x.py:f"))


def test_the_usual_call_comes_first_then_each_change_alone():
    calls = list(FAMILY.calls("pytorch"))
    assert [c.expression for c in calls[:4]] == [
        "pool(x, 1, pad=0)",
        "pool(x, 1, pad=1)",
        "pool(x, 2, pad=0)",
        "pool(x, 2, pad=1)",
    ]
    assert {c.inputs[0].dtype for c in calls} == {"float32", "int64"}
    assert len({c.name for c in calls}) == len(calls)
    made = replace(FAMILY, expression="pool(x)", setup="pool = Pool({size}, pad={pad})")
    assert len({c.name for c in made.calls("pytorch")}) == len(calls)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_call_in_every_way_is_valid_python(framework):
    calls = calls_of(framework)
    assert len(calls) > 1000
    variants = [VARIANTS[name] for name in variants_of(framework)]
    assert len(variants) > 4
    for at, call in enumerate(list(calls.values())[::40]):
        program = CallProgram(call, variants[at % len(variants)], FILLS[at % len(FILLS)])
        for text in (program.imports, program.plain, program.indirect, program.in_float64(True)):
            compile(text, call.name, "exec")
        assert not program.variant.imports or program.variant.imports not in program.plain


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("values", ["normal", "positive", "unit", "below 3"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)])
def test_the_text_of_an_input_gives_it(fill, values, dtype, shape):
    array = eval(array_text(Input(shape, dtype, values), fill, 1), {"np": np})
    assert (np.shape(array), str(np.asarray(array).dtype)) == (shape, dtype)


def test_a_worker_gives_results_failures_and_its_end():
    with CallWorkers("numpy", WorkerLimits(2.0), JUDGE) as workers:
        ran = workers.run("import numpy as np\nexpected = (np.arange(3), None, [1.5])", "expected")
        assert [a.tolist() for a in ran.arrays] == [[0, 1, 2], 1.5]
        assert ran.dtypes == ("int64", "float64")
        ended = workers.run("import numpy as np\nexpected = np.zeros(2) @ np.zeros(3)", "expected")
        assert (ended.outcome.status, ended.outcome.exception) == ("error", "ValueError")
        ended = workers.run("raise TypeError('it is not supported')", "expected")
        assert ended.outcome.status == "unsupported"
        ended = workers.run("import os\nos.abort()", "expected")
        assert ended.outcome.exception == "SIGABRT"
        assert workers.run("expected = 2", "expected").outcome.ran
        ended = workers.run("import time\ntime.sleep(60)", "expected")
        assert ended.outcome.status == "hang"


@pytest.mark.parametrize(
    ("plain", "indirect", "word"),
    [
        (ok([1.0, 2.0]), ok([1.0, 2.0]), RIGHT),
        (ok([1.0, 2.0]), ok([1.0, 2.001]), "values differ"),
        (ok([1.0, np.nan]), ok([1.0, 2.0]), "NaN/Inf mask differs"),
        (ok([1, 2]), ok([1, 3]), "values differ"),
        (ok([1.0]), ok([1.0, 1.0]), "wrong shape"),
        (ok([1.0]), ok([1.0], [1.0]), "wrong shape"),
        (ok([1.0]), ok(np.float32([1.0])), "wrong dtype"),
        (ok([1.0]), failed(), ERROR),
        (ok([1.0]), failed("this is", status="unsupported"), UNSUPPORTED),
        (ok([1.0]), failed("No translator for it"), UNSUPPORTED),
        (ok([1.0]), failed("", "SIGSEGV", "crash"), CRASH),
        (failed(), ok([1.0]), SILENT_ACCEPTANCE),
        (failed("for 'Half'", status="unsupported"), ok([1.0]), INVALID_INPUTS),
        (failed(), failed(), INVALID_INPUTS),
        (failed(), failed("", "SIGFPE", "crash"), CRASH),
    ],
)
def test_a_result_is_judged_by_the_plain_one(plain, indirect, word):
    assert status_of(indirect, plain) == word


def test_what_float64_excuses_is_no_finding():
    plain, indirect = ok(np.float32([1.01])), ok(np.float32([1.0]))
    exact = ok([1.0])
    assert status_of(indirect, plain, exact, exact) == RIGHT
    moved = ok([1.005])
    assert status_of(plain, ok(np.float32([1.0])), exact, moved) == RIGHT


def test_a_narrow_dtype_in_between_rounds_more():
    plain, off = ok([1.0]), ok([1.001])
    assert status_of(off, plain) == "values differ"
    text = "x.half().sum() + y.to(torch.bfloat16)"
    assert Call("pytorch", "sum", text, (Input((2,)),)).narrow == ("bfloat16", "float16")
    assert status_of(off, plain, expression=text) == RIGHT
    assert Call("pytorch", "sum", "x.sum()", (Input((2,)),)).narrow == ()


def test_tables_are_chosen_by_name():
    chosen = calls_of("pytorch", ["pytorch:casts"])
    assert {call.family.split()[0] for call in chosen.values()} == {
        "accumulated",
        "bits",
        "float8",
        "mixed",
        "unsigned",
    }
    with pytest.raises(UserError, match="no table 'pytorch:nothing'"):
        calls_of("pytorch", ["pytorch:nothing"])


def shown_by(calls, wrong, word="values differ", **facts):
    return [CallOutcome(n, word if wrong(c) else RIGHT, **facts) for n, c in calls.items()]


def test_the_option_that_decides_is_named_and_other_inputs_are_no_second_finding():
    calls = {call.name: call for call in FAMILY.calls("pytorch")}
    shown = shown_by(calls, lambda call: call.options["pad"] == 1)
    occurrences = call_occurrences(calls, "pytorch:aot", shown)
    assert len(occurrences) > 2
    ((first, _),) = distinct_causes(occurrences)
    assert first.entry.signature == "values differ | pytorch | pool(pad=1)"


def test_options_that_each_decide_are_two_findings():
    calls = {call.name: call for call in FAMILY.calls("pytorch")}
    shown = shown_by(calls, lambda c: (c.options["pad"] == 1) != (c.options["size"] == 2))
    found = distinct_causes(call_occurrences(calls, "pytorch:aot", shown))
    assert sorted(s.entry.parameters["pad"] for s, _ in found if "pad" in s.entry.parameters) == [
        "1"
    ]


def call_of(name):
    """A function of one input."""
    return Call("pytorch", name, f"{name}(x)", (Input((2,)),))


def distinct_of(failed, *place):
    """The functions of the distinct findings among calls that failed so."""
    found = [
        call_occurrence(call_of(name), "pytorch:aot", CallOutcome(name, word, said, *place), {})
        for name, word, said in failed
    ]
    return [first.entry.layer for first, _ in distinct_causes(found)]


def test_failures_that_say_the_same_are_one_finding_in_all_functions():
    said = ("one", ERROR, "got 3 of 'a'"), ("two", ERROR, "got 7 of 'b'"), ("three", ERROR, "no")
    assert distinct_of(said, "ValueError", "torch/x.py:f") == ["one", "three"]


def test_reductions_share_a_cause_and_deaths_have_that_of_their_function():
    said = [
        ("sum", ERROR, "ReduceSum node has no axes"),
        ("mean", ERROR, "ReduceMean node has no axes"),
        ("pool1d", CRASH, "SIGFPE: words of a log"),
        ("pool2d", CRASH, "SIGFPE: other words"),
        ("fold", CRASH, "SIGFPE: words of a log"),
    ]
    assert distinct_of(said, "Error") == ["sum", "fold", "pool1d"]


def test_calls_that_have_run_are_not_run_again_here_or_elsewhere(state_root):
    calls = {call.name: call for call in map(call_of, "abc")}

    class Made:
        params = JUDGE

        def plain(self, program):
            return PlainRuns(*[ok([1.0])] * 3)

        def indirect(self, program):
            return ok([1.0])

    def run(elsewhere, folder):
        return [s.call for _, s in run_calls(calls, ["pytorch:aot"], Made(), folder, elsewhere)]

    names = list(calls)
    first = state_root / "first"
    assert run({}, first) == names
    assert run({}, first) == []
    with saved_facts(first / "pytorch-aot") as facts:
        facts.known.pop()  # as after a kill
    known = count_calls(first, {})
    assert known["pytorch:aot"]["words"] == {RIGHT: 2}
    assert run(known, state_root / "other") == names[2:]
    assert count_calls(state_root / "other", known)["pytorch:aot"]["words"] == {RIGHT: 3}


def test_calls_that_a_collection_lists_are_not_run_again(tmp_path, monkeypatch):
    """No worker starts for them."""
    monkeypatch.chdir(tmp_path)
    for name in ("conf", "params.yaml"):
        (tmp_path / name).symlink_to(ROOT / name)
    marks = " ".join(map(mark_of, calls_of("jax", ["jax:elements"])))
    write_json(tmp_path / "mine/campaign.json", {"calls": {"jax:jit": {"calls": marks}}})
    words = ("call", "jax", "--table", "jax:elements", "--variant", "jax:jit")
    ended = CliRunner().invoke(app, [*words, "--collection", "mine"])
    assert (ended.output, ended.exit_code) == ("", 0)
    assert read_outcomes(saved_folders.place(CALLS), "jax:jit") == []


def test_nothing_is_written_through_a_link_among_the_calls(state_root, tmp_path):
    (tmp_path / "victim").mkdir()
    state_root.mkdir(parents=True, exist_ok=True)
    (state_root / "calls").symlink_to(tmp_path / "victim")
    calls = {"a": call_of("a")}
    with pytest.raises(UserError, match="symbolic link"):
        list(run_calls(calls, ["pytorch:aot"], None, state_root / "calls", {}))
    assert list((tmp_path / "victim").iterdir()) == []


@needs("torch")
@pytest.mark.parametrize(
    ("word", "lines", "says"),
    every(
        3,
        [
            ("values differ", "actual = [inputs[0], inputs[1] + 4]", LIVES),
            ("values differ", "actual = list(inputs)", GONE),
            ("wrong dtype", "actual = [inputs[0], inputs[1].double()]", LIVES),
            ("wrong shape", "actual = list(inputs)[:1]", LIVES),
            (ERROR, "raise ValueError('quite another')", OTHER),
            (SILENT_ACCEPTANCE, "actual = 1", LIVES),
            (CRASH, "import os; os.abort()", LIVES),
        ],
    ),
)
def test_a_script_decides(tmp_path, word, lines, says):
    given = (Input((2, 3)), Input((2,), "int64"))
    variant = replace(PLAIN, lines=lines, expected="expected = f(*inputs)")
    text = "[x, y]" if word != SILENT_ACCEPTANCE else "1 / 0"
    program = CallProgram(Call("pytorch", "pair", text, given), variant, "ramp")
    ends = {ERROR: ("ValueError", "no such size here"), CRASH: ("SIGABRT", "")}
    exception, message = ends.get(word, ("", ""))
    facts = {"exception": exception, "message": message}
    found = Finding(0, word, "run", "pytorch", ("pytorch",), **facts)
    made = script_text(program, found, "a | b | c", "v 1", [0.1, 0.0])
    assert len(made.splitlines()) <= 32
    (tmp_path / "repro.py").write_text(made)
    assert word_of(entry(symptom=word), run_script(tmp_path / "repro.py")) == says


def test_the_innermost_condition_of_openvino_tells_failures_apart():
    head = "Check 'false' failed at report.cpp:151: FrontEnd API failed. -- aten::hstack: "
    cause = "Check 'is_axis_valid(axis, r)' failed at util.cpp:336: Axis 1 out of the range [-1, 0]"
    finding = Finding(0, ERROR, "run", "openvino", ("pytorch",), message=head + cause)
    _, words = ScriptDecision("", finding=finding).recorded
    assert words[0] == "is_axis_valid(axis, r)" and "Axis" in words
    older = head.replace("false", "is_conversion_successful") + cause
    assert all(word in older for word in words)
    assert "is_axis_valid(axis, r)" not in head


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_script_holds_the_call_and_what_is_expected(framework):
    variants = [VARIANTS[name] for name in variants_of(framework)]
    call = next(iter(calls_of(framework).values()))
    for word, variant in itertools.product(
        ("values differ", ERROR, CRASH, SILENT_ACCEPTANCE), variants
    ):
        program = CallProgram(call, variant, "ramp")
        found = Finding(0, word, "run", variant.library, (variant.framework,))
        text = script_text(program, found, "s", "v 1", [0.1])
        compile(text, "repro.py", "exec")
        assert call.expression in text and all(line in text for line in variant.lines.split("\n"))


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_some_calls_of_each_framework_run(framework, state_root):
    calls = dict(list(calls_of(framework).items())[:3])
    first, *_, last = variants_of(framework)
    with CallWorkers(framework, WorkerLimits(300.0), JUDGE) as workers:
        shown = [one for _, one in run_calls(calls, [first, last], workers, state_root, {})]
    assert len(shown) == 6
    assert json.dumps([asdict(one) for one in shown])
    assert any(one.status == RIGHT for one in shown)
