"""Asking about each input once: the answers are the models', the calls are fewer."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from subjects import CLASSES, crashing, models, search, seeds, under_test

from asterism.dflare import prediction_cache as module
from asterism.dflare.lockstep import SeedBudget
from asterism.dflare.pair import ModelPair
from asterism.dflare.prediction_cache import PredictionCache

IMAGES = seeds(8)


def ask(prediction_cache, items):
    """A question about items that all may come again."""
    return prediction_cache.submit(items, np.ones(len(items), np.bool_))


ROWS = st.lists(st.integers(0, len(IMAGES) - 1), max_size=12)


def test_two_questions_under_way_have_their_own_answers():
    prediction_cache, direct = PredictionCache(ModelPair(*models())), ModelPair(*models())
    first, second = ask(prediction_cache, IMAGES[:5]), ask(prediction_cache, IMAGES[3:])
    np.testing.assert_array_equal(second.result().f, direct.ask(IMAGES[3:]).f)
    np.testing.assert_array_equal(first.result().f, direct.ask(IMAGES[:5]).f)


def test_a_failure_concerns_every_copy_of_the_input_and_is_not_remembered():
    f, g = models()
    healthy = g.predict
    crashing(g, lambda item: np.array_equal(item, IMAGES[2]))
    prediction_cache = PredictionCache(ModelPair(f, g))
    answers = ask(prediction_cache, IMAGES[[2, 0, 2, 1]]).result()
    assert answers.failures == {0: "it crashed", 2: "it crashed"}
    assert np.isnan(answers.g[[0, 2]]).all()
    assert np.isfinite(answers.g[[1, 3]]).all()
    g.predict = healthy
    again = ask(prediction_cache, IMAGES[[2]]).result()
    assert again.failures == {}
    assert np.isfinite(again.g).all()


def test_known_inputs_are_answered_beside_new_ones_that_all_fail():
    f, g = models()
    prediction_cache = PredictionCache(ModelPair(f, g))
    known = ask(prediction_cache, IMAGES[:2]).result()
    crashing(g, lambda _: True)
    answers = ask(prediction_cache, IMAGES[[0, 2, 1, 3]]).result()
    assert answers.failures == {1: "it crashed", 3: "it crashed"}
    np.testing.assert_array_equal(answers.g[[0, 2]], known.g)
    np.testing.assert_array_equal(answers.f, f.predict(IMAGES[[0, 2, 1, 3]]))
    assert answers.g.shape == (4, CLASSES)
    assert np.isnan(answers.g[[1, 3]]).all()


def test_what_does_not_come_again_is_asked_every_time_and_not_kept():
    f, g = models()
    prediction_cache, direct = PredictionCache(ModelPair(f, g)), ModelPair(*models())
    rows, comes_again = [0, 1, 0, 1, 2], np.array([True, False, True, False, True])
    for _ in range(2):
        answers = prediction_cache.submit(IMAGES[rows], comes_again).result()
        np.testing.assert_array_equal(answers.f, direct.ask(IMAGES[rows]).f)
        np.testing.assert_array_equal(answers.g, direct.ask(IMAGES[rows]).g)
    assert f.batches == g.batches == [4, 2]
    ask(prediction_cache, IMAGES[[1]]).result()
    assert f.batches == [4, 2, 1], "the second image was not remembered"


@example(3, [([0, 1, 2, 3], []), ([1, 2, 3], []), ([0], [])])
@example(len(IMAGES), [([0, 1], []), ([1, 0, 2], []), ([2, 0, 1], [])])
@given(st.integers(1, len(IMAGES) + 1), st.lists(st.tuples(ROWS, ROWS), max_size=5))
def test_the_answers_are_those_of_the_models_and_the_latest_are_kept(room, turns):
    """A plain list of what is known tells what is asked; two questions are under way at a time."""
    f, g = models()
    direct, known, asked = ModelPair(*models()), [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_KEPT_BYTES", room * (module._ENTRY_BYTES + 2 * 4 * CLASSES))
        prediction_cache = PredictionCache(ModelPair(f, g))
        for questions in turns:
            submitted = [ask(prediction_cache, IMAGES[rows]) for rows in questions]
            new = [list(dict.fromkeys(r for r in rows if r not in known)) for rows in questions]
            for rows, cached, first_seen in zip(questions, submitted, new, strict=True):
                answers, expected = cached.result(), direct.ask(IMAGES[rows])
                np.testing.assert_array_equal(answers.f, expected.f)
                np.testing.assert_array_equal(answers.g, expected.g)
                assert answers.failures == {}
                known = (known + [row for row in first_seen if row not in known][-room:])[-room:]
                asked.append(len(first_seen))
    assert f.batches == g.batches == asked


def test_a_search_that_repeats_its_mutants_asks_about_few():
    f, _ = models()
    agreeing = under_test(f, f, {"average_blur": {"sizes": [1, 2, 3]}})
    findings = search(seeds(3), budget=SeedBudget(50), subject=agreeing).run()
    assert [record.queries for record in findings.seeds] == [50] * 3
    asked_of_each = sum(f.batches) / 2  # also about mutants that were made ahead in vain
    assert asked_of_each < 3 * 50 * 4 / 5
