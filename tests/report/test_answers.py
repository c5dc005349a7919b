"""The front page's answers: for each rule, numbers on both sides of it and what is said."""

import re
from dataclasses import replace

import pytest
from scipy.stats import beta

from asterism.report.base.section import (
    Level,
    bound_share,
    format_points,
    format_share,
    listed,
    quote_names,
)
from asterism.report.lanes import compressed_answer as compressed
from asterism.report.lanes import importance_answer as importance
from asterism.report.lanes import libraries_answer as libraries
from asterism.report.lanes import stateful_answer as stateful
from places import ROOT

RECURRENT = stateful.RecurrentResults(
    train_accuracy=0.99,
    test_accuracy=0.98,
    inputs=100,
    states=500,
    transitions=4000,
    covered_states=0.95,
    covered_transitions=0.85,
    variance=0.8,
    seeds=50,
    broken_seeds=2,
    campaigns=(
        stateful.Campaign("state", "state", 20, 0.6),
        stateful.Campaign("k step", "k_step", 30, 0.84),
        stateful.Campaign("nothing", "none", 25, 0.5),
    ),
    same_mutants=False,
)
UNGUIDED = stateful.Campaign("nothing", "none", 31, 0.5)


def said(answer):
    """Everything that an answer says, in one text."""
    steps = [f"{step.text} {step.command}" for step in answer.steps]
    return "\n".join([answer.sentence, answer.certainty, *answer.unusual, *steps])


def test_a_network_without_campaigns_is_answered_for():
    answer = stateful.answer_stateful(replace(RECURRENT, campaigns=(), broken_seeds=0))
    assert [figure.value for figure in answer.figures] == ["98.0%", "95.0%", "85.0%"]
    assert answer.unusual == answer.steps == ()


def test_the_networks_figures_have_intervals_and_sources():
    figures = stateful.answer_stateful(RECURRENT).figures
    assert [f.value for f in figures] == ["98.0%", "95.0%", "85.0%", "4.0%"]
    assert figures[0].certainty == format_share(98, 100, "input")
    assert figures[3].certainty == format_share(2, 50, "seed")
    assert figures[1].sources[0] == "metrics/measure_coverage.json: test.basic_state"


PAIR = compressed.PairResults(
    name="small",
    deviating=0,
    agreement=1.0,
    accuracy=0.97,
    original_accuracy=0.97,
    size=0.25,
    deflated_size=0.3,
    seeds=20,
    triggered=0,
    unfinished=0,
    queries=None,
    chance=0.01,
)
FEW = {"deviating": 3, "agreement": 0.99}  # of 300
UNMEASURED = dict.fromkeys(("deviating", "agreement", "accuracy", "original_accuracy"))


def answer_pair(pair):
    return compressed.answer_difference([pair])


def test_pairs_are_answered_for_together():
    worse = replace(PAIR, name="tiny", deviating=30, agreement=0.9, accuracy=0.9, triggered=9)
    answer = compressed.answer_difference([PAIR, worse])
    for number in ("“tiny”", "0.0% to 10.0%", "-7.0 to +0.0 points"):
        assert number in answer.sentence
    worst, accuracy, triggered = answer.figures
    assert (worst.value, worst.certainty) == ("10.0%", format_share(30, 300, "image"))
    assert worst.sources == (
        "artifacts/compress/tiny/summary.json: agreement, deviating_test_images",
    )
    assert accuracy.value == "-7.0 to +0.0"
    assert (triggered.value, triggered.certainty) == ("22.5%", format_share(9, 40, "seed"))


def test_the_number_of_test_images_follows_from_those_that_deviate():
    assert replace(PAIR, deviating=7, agreement=1 - 7 / 360).images == 360
    assert PAIR.images is None and replace(PAIR, **UNMEASURED).images is None


REPAIR = compressed.RepairResults("small", "repaired", 0.5, 200, 0.97, 0.98, 0.9, 0.4)


@pytest.mark.parametrize(
    ("change", "unrepaired", "level", "words"),
    [
        ({}, [], Level.GOOD, "Yes: 50.0%"),
        ({"repaired": 0.49}, [], Level.LOOK, "In part: 49.0%"),
        ({}, ["other"], Level.LOOK, "could be trained for “other”"),
        ({"after": 0.96}, [], Level.LOOK, "No,"),
        ({"status": "lowers agreement"}, [], Level.LOOK, "No,"),
        ({"repaired": 0.0}, [], Level.LOOK, "Leave “small”"),
        ({"success_after": 0.9}, [], Level.GOOD, "as often as before"),
        ({"before": None, "after": None}, [], Level.GOOD, "Yes:"),
    ],
)
def test_whether_a_repair_helps(change, unrepaired, level, words):
    answer = compressed.answer_repair([replace(REPAIR, **change)], unrepaired)
    assert answer.level is level and words in said(answer)
    plain = compressed.answer_repair([REPAIR], [])
    assert "as often as before" not in said(plain) and "could be trained" not in said(plain)


def test_a_repair_that_is_worse_is_not_advised():
    worse = replace(REPAIR, name="tiny", after=0.9)
    answer = compressed.answer_repair([REPAIR, worse], [])
    assert answer.level is Level.LOOK and "not for “tiny”" in answer.sentence
    assert [step.command for step in answer.steps] == ["artifacts/repair/small/", ""]
    assert answer.figures[1].value == "97.0% → 98.0%"
    assert answer.figures[1].certainty == "after: " + format_share(196, 200, "image")


def added(title="FGSM", inputs=36, success=1.0, rounded=0.9, new=5, above=False):
    return importance.AddedInputs(title, inputs, success, rounded, new, above)


IMPORTANCE = importance.ImportanceResults(
    layer="dense2",
    idc="idc_6",
    neurons=6,
    combinations=64,
    covered=0.95,
    inputs=180,
    all_covered=0.97,
    all_inputs=360,
    subset=180,
    spread=0.031,
    draws=4,
    added=(added("FGSM", above=True), added("BIM", above=True, new=7)),
)


def test_inputs_that_would_add_nothing_are_not_advised():
    some = replace(IMPORTANCE, covered=0.5, all_covered=0.75, added=())
    assert "75.0%" in said(importance.answer_importance(some))
    none = replace(some, all_covered=some.covered)
    assert "natural inputs" not in said(importance.answer_importance(none))


def test_the_augmentation_that_reaches_most_is_advised():
    text = said(importance.answer_importance(IMPORTANCE))
    assert "Add inputs as BIM" in text and "7 new combinations" in text
    assert "4 times" in text and "3.1 points" in text
    assert "Add inputs" not in said(importance.answer_importance(replace(IMPORTANCE, covered=1)))
    unjudged = replace(IMPORTANCE, added=(added(above=None),))
    assert importance.answer_importance(unjudged).unusual == ()


LIBRARIES = libraries.LibraryResults(
    generated=1000,
    executed=100,
    agreements=900,
    unresolved=0,
    rejected=0.1,
    libraries=(),
    problems=0,
    known=0,
    confirmed=0,
    affected=0,
    left=0,
    left_by_time=0,
    cut_by_time=0,
    left_out=(),
    silent=(),
)
FOUND = {"problems": 3, "confirmed": 3, "affected": 5, "libraries": ("jax", "litert")}

#: By what answers: the usual results, and changes of them with the level and the words that follow.
LEVELS = {
    stateful.answer_stateful: (
        RECURRENT,
        ({}, Level.GOOD, "95.0%", "85.0%"),
        ({"covered_states": 0.9, "covered_transitions": 0.8}, Level.GOOD, "90.0%", "80.0%"),
        ({"covered_states": 0.899}, Level.LOOK, "89.9%", "85.0%"),
        ({"covered_transitions": 0.799}, Level.LOOK, "95.0%", "79.9%"),
        ({"covered_states": 0.5}, Level.LOOK, "50.0%", "85.0%"),
        ({"covered_states": 0.499}, Level.ACT, "49.9%", "85.0%"),
    ),
    answer_pair: (
        PAIR,
        ({}, Level.GOOD, "alike"),
        (FEW, Level.LOOK, "1.0%"),
        ({"triggered": 1}, Level.LOOK, "small changes"),
        ({"deviating": 6, "agreement": 0.98}, Level.LOOK, "2.0%"),
        ({"deviating": 7, "agreement": 1 - 7 / 300}, Level.LOOK, "“small”: 2.3%"),
        ({"deviating": 12, "agreement": 0.96}, Level.ACT, "“small”: 4.0%"),
        ({**FEW, "accuracy": 0.955}, Level.ACT, "-1.5 points"),
        ({**FEW, "accuracy": 0.9601}, Level.LOOK, "1.0%"),
        (UNMEASURED, Level.GOOD, "not measured"),
        ({**UNMEASURED, "triggered": 2}, Level.LOOK, "not measured"),
    ),
    importance.answer_importance: (
        IMPORTANCE,
        ({"covered": 0.9}, Level.GOOD, "90.0% of the 64 combinations"),
        ({"covered": 0.899}, Level.LOOK, "89.9% of the 64 combinations"),
        ({"covered": 0.3}, Level.LOOK, "30.0% of the 64 combinations"),
        ({"covered": 0.299}, Level.ACT, "29.9% of the 64 combinations"),
    ),
    libraries.answer_libraries: (
        LIBRARIES,
        ({}, Level.GOOD, "100 models"),
        ({"executed": 0}, Level.LOOK, "Not shown"),
        ({"unresolved": 1}, Level.LOOK, "Not shown"),
        ({"left": 1}, Level.LOOK, "Not shown"),
        (FOUND, Level.ACT, "3 different problems in jax and litert"),
        ({**FOUND, "known": 2}, Level.ACT, "2 of them known"),
        ({**FOUND, "known": 3}, Level.LOOK, "3 of them known"),
    ),
}
#: The same with what is said only of changed results.
UNUSUAL = {
    stateful.answer_stateful: (
        RECURRENT,
        ({"test_accuracy": 0.93}, "93.0%"),
        ({"variance": 0.49}, "49.0%"),
        ({"variance": 0.49}, "asterism sweep abstraction.k=3,5,8"),
        ({"same_mutants": True}, "-S fuzz.mutants="),
        ({"campaigns": (*RECURRENT.campaigns[:2], UNGUIDED)}, "31 groups of crashes"),
        ({"broken_seeds": 0}, "No campaign"),
        ({"broken_seeds": 5}, "withstand"),
        ({"covered_transitions": 0.83}, "artifacts/fuzz/k_step/queue.npz"),
    ),
    answer_pair: (
        PAIR,
        ({"size": 0.96}, "96.0% of its original's, 30.0% deflated"),
        ({"size": 0.96, "deflated_size": None}, "96.0% of its original's."),
        ({"unfinished": 2}, "2 seeds"),
        ({"accuracy": 0.98}, "More accurate"),
        ({"chance": 0.05}, "fewer queries"),
        ({"deviating": 7, "agreement": 1 - 7 / 300}, "interval"),
    ),
    importance.answer_importance: (
        IMPORTANCE,
        ({"added": (added(),)}, "No inputs that were added"),
        ({"added": (added(above=True), added("BIM"))}, "Of 2 kinds of added inputs only FGSM"),
        ({"added": (added(rounded=0.74),)}, "74.0%"),
        ({"added": (added(inputs=9),)}, "FGSM: 9 inputs"),
        ({"spread": None}, "spread is unknown"),
        ({"subset": 30}, "30 inputs"),
        ({"subset": 30, "files": "idc_6"}, "idc_6/smallest_subset.npz"),
        ({"covered": 0.5, "added": ()}, "Add natural inputs"),
    ),
    libraries.answer_libraries: (
        LIBRARIES,
        ({"left": 14}, "the limit triage.max_unique"),
        ({"left": 14, "left_by_time": 14}, "the limit triage.minutes"),
        ({"left": 14, "left_by_time": 14}, "dvc repro -s --force triage_findings"),
        ({**FOUND, "cut_by_time": 2}, "2 minimal models"),
        ({**FOUND, "left": 14}, "dvc exp run -S triage.max_unique=17"),
        ({"left_out": ("a", "b")}, "a and b."),
        ({"silent": ("c",)}, "no model at all: c."),
        ({"rejected": 0.11}, "11.0%"),
        ({**FOUND, "confirmed": 1}, "2 problems"),
        (FOUND, "artifacts/triage_findings/FINDING/report.md"),
        ({"executed": 49}, "dvc exp run -S generate.executed=100"),
    ),
}


def cases(by_answer):
    """A case for each change: what answers, the usual results, the change, and what follows."""
    return [
        (answer, usual, change, follows)
        for answer, (usual, *rows) in by_answer.items()
        for change, *follows in rows
    ]


@pytest.mark.parametrize(("answer", "usual", "change", "follows"), cases(LEVELS))
def test_the_level_and_what_the_sentence_says_follow_from_the_results(
    answer, usual, change, follows
):
    found, (level, *words) = answer(replace(usual, **change)), follows
    assert found.level is level and all(word in found.sentence for word in words)
    if answer is answer_pair:
        assert bool(found.steps) == (level is not Level.GOOD)


@pytest.mark.parametrize(("answer", "usual", "change", "follows"), cases(UNUSUAL))
def test_what_is_unusual_is_said_only_then(answer, usual, change, follows):
    (words,) = follows
    assert words not in said(answer(usual))
    assert words in said(answer(replace(usual, **change)))
    if answer is answer_pair:
        assert words not in said(answer(replace(PAIR, deviating=30, agreement=0.9)))


def test_figures_of_libraries():
    figures = libraries.answer_libraries(replace(LIBRARIES, **FOUND)).figures
    assert [figure.value for figure in figures] == ["3", "5 of 100", "900", "1,000"]
    assert figures[0].certainty == "3 of 3 shown by a script in three processes"
    assert figures[1].certainty == format_share(5, 100, "model")


@pytest.mark.parametrize(("count", "total"), [(0, 20), (3, 20), (20, 20), (7, 360)])
def test_intervals_are_those_of_clopper_and_pearson(count, total):
    low = beta.ppf(0.025, count, total - count + 1) if count else 0
    high = beta.ppf(0.975, count + 1, total - count) if count < total else 1
    assert bound_share(count, total) == pytest.approx((low, high))


def test_words_of_certainty():
    assert bound_share(0, 0) == bound_share(3, 2) == bound_share(-1, 2) == (0, 1)
    assert format_share(353, 360, "input") == "96.0% to 99.2%, 360 inputs"
    assert format_share(0, 0, "seed") == "0.0% to 100.0%, 0 seeds"
    assert [listed(list(names)) for names in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]
    assert quote_names(["a", "b"]) == "“a” and “b”"
    assert (format_points(-0.0126), format_points(0.003)) == ("-1.3", "+0.3")


def test_the_manual_names_the_numbers_of_the_rules():
    rows = (ROOT / "docs/report.md").read_text(encoding="utf-8").splitlines()
    answers = {
        "exercise the recurrent network?": (
            stateful.STATES,
            stateful.TRANSITIONS,
            stateful.FEW_STATES,
        ),
        "differ, and does it matter?": (compressed.AGREEMENT, compressed.ACCURACY_LOST),
        "be repaired without retraining?": (compressed.WELL_REPAIRED,),
        "exercise the neurons that matter?": (importance.WELL, importance.BADLY),
    }
    for question, numbers in answers.items():
        (row,) = (row for row in rows if question in row)
        assert re.findall(r"\d+%", row) == [f"{100 * number:.0f}%" for number in numbers]
