"""Slow twins: the definitions of the paper in plain loops."""

import itertools
import math

import numpy as np


def principal_components(rows, k):
    """By the singular value decomposition of the centred rows."""
    centred = rows.astype(np.float64) - rows.astype(np.float64).mean(axis=0)
    _, _, vectors = np.linalg.svd(centred, full_matrices=False)
    components = vectors[:k]
    for row in components:
        if row[np.abs(row).argmax()] < 0:
            row *= -1
    return components


def cells(rows, mean, components, lower, upper, m):
    """Grid cell of each row, as a tuple."""
    found = []
    for row in rows:
        cell = []
        for i, component in enumerate(components):
            coordinate = sum((float(row[j]) - mean[j]) * component[j] for j in range(len(row)))
            cell.append(math.floor((coordinate - lower[i]) / ((upper[i] - lower[i]) / m)))
        found.append(tuple(cell))
    return found


def count(traces):
    """States, transition counts and initial counts of traces of hashable states."""
    states, transitions, initial = {}, {}, {}
    for trace in traces:
        initial[trace[0]] = initial.get(trace[0], 0) + 1
        for state in trace:
            states[state] = states.get(state, 0) + 1
        for step in itertools.pairwise(trace):
            transitions[step] = transitions.get(step, 0) + 1
    return states, transitions, initial


def boundary(visited, n_step, k):
    """Unvisited cells at distance 1 to n_step of the nearest visited one."""
    found = set()
    for cell in visited:
        for offset in itertools.product(range(-n_step, n_step + 1), repeat=k):
            other = tuple(c + o for c, o in zip(cell, offset, strict=True))
            if sum(map(abs, offset)) <= n_step and other not in visited:
                found.add(other)
    return found


def coverage(profiled, tested, edge):
    """The five criteria for traces of cells."""
    states, transitions, _ = count(profiled)
    seen, taken, _ = count(tested)
    return {
        "basic_state": len(set(states) & set(seen)) / len(states),
        "weighted_state": sum(states[s] for s in states if s in seen) / sum(states.values()),
        "n_step_state_boundary": len(edge & set(seen)) / len(edge) if edge else 1.0,
        "basic_transition": len(set(transitions) & set(taken)) / len(transitions),
        "weighted_transition": sum(transitions[t] for t in transitions if t in taken)
        / sum(transitions.values()),
    }


def jaccard(one, other):
    return len(set(one) & set(other)) / len(set(one) | set(other))
