"""Dflare written a second time, straight from the paper: one seed, plain loops."""

import numpy as np

from asterism.core.random_streams import BatchedStreams, stream
from asterism.images import build_mutators
from core.metropolis_twin import select

#: Dflare_D, by what it asks of the gain.
READINGS = {
    "distance_only": lambda gain, delta: gain > 0,
    "distance_at_least": lambda gain, delta: gain >= 0,
    "distance_by_delta": lambda gain, delta: gain > delta,
    "distance_changed": lambda gain, delta: abs(gain) > delta,
}


def fitness_replaces(rule, delta, observed, best_distance, f, g, novelty=0.0, of_best=None):
    """Whether a mutant with outputs f and g replaces the best; it becomes observed.

    ``of_best`` is a list with the O of the best alone, for the rule that asks for it.
    """
    distance = np.float32(abs(f.max() - g.max()))
    gain = float(distance - best_distance)
    if rule in READINGS:
        return READINGS[rule](gain, delta), distance
    if rule in ("paper", "consequence", "nearest_neighbour", "formula"):
        near = [np.sqrt(((f - a) ** 2).sum() + ((g - b) ** 2).sum()) for a, b in observed]
        new = min(near) > (0 if rule in ("paper", "consequence") else novelty)
        observed.append((f, g))
        if rule != "formula":
            return bool(gain > delta or (abs(gain) <= delta and new)), distance
        at_least = gain + delta * (int(new) - int(of_best[0])) >= 0
        of_best[0] = new if at_least else of_best[0]
        return bool(at_least), distance
    if abs(gain) > delta:  # the released code: larger or smaller
        return True, distance
    squared = [((f - a) ** 2).sum() + ((g - b) ** 2).sum() for a, b in observed]
    new = all(s > 0.5 for s in squared)
    if new:
        observed.append((f, g))
    return new, distance


class Numbers:
    """A query's own random numbers, as a plain generator gives them."""

    def __init__(self, streams):
        self._streams = streams

    def random(self):
        return self._streams.random(1)[0]

    def integers(self, high):
        return int(self._streams.integers(0, high, 1)[0])


def numbers(run_seed, name, number, purpose, query):
    """The random numbers of one query from one seed."""
    key = stream(run_seed, "trigger", name, number, purpose).bit_generator.random_raw()
    return BatchedStreams(np.array([key], np.uint64)).below(np.array([query - 1]))


def dflare(
    f_model, g_model, seed_image, number, run_seed, name, *, operators, rule, delta, guided, budget
):
    """Algorithm 1; ``(outcome, queries, operators, input)``."""
    mutators = build_mutators(operators)
    names = list(mutators)

    def own(purpose, query):
        return numbers(run_seed, name, number, purpose, query)

    chosen, succeeded = dict.fromkeys(names, 0), dict.fromkeys(names, 0)

    def rate(operator):
        return succeeded[operator] / max(chosen[operator], 1)

    def mutate(image, operator, query):
        draws = mutators[operator].draw(own("mutations", query), (1, *image.shape))
        return mutators[operator].apply(image[np.newaxis], draws)[0]

    def ask(image):
        return f_model.predict(image[np.newaxis])[0], g_model.predict(image[np.newaxis])[0]

    f, g = ask(seed_image)
    if f.argmax() != g.argmax():
        return "deviates_already", 0, (), None
    best, best_distance, applied, observed = seed_image, np.float32(abs(f.max() - g.max())), [], []
    observed.append((f, g))
    operator = None
    for query in range(1, budget + 1):
        choice = Numbers(own("choice", query))
        operator = select(names, operator if guided else None, rate, 1 / len(names), choice)
        mutant = mutate(best, operator, query)
        chosen[operator] += 1
        f, g = ask(mutant)
        if f.argmax() != g.argmax():
            return "triggered", query, (*applied, operator), mutant
        replaces, distance = fitness_replaces(rule, delta, observed, best_distance, f, g)
        if replaces:
            best, best_distance = mutant, distance
            applied.append(operator)
            succeeded[operator] += 1
    return "exhausted", budget, (), None
