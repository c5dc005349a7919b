"""Dflare's Algorithm 2 written a second time, straight from the paper (MEMO's is the same)."""


def select(candidates, last, score, p, rng):
    """The next candidate after ``last``; the first one is drawn uniformly."""
    if last is None:
        return candidates[rng.integers(len(candidates))]
    ranked = sorted(candidates, key=score, reverse=True)
    while True:
        proposal = candidates[rng.integers(len(candidates))]
        accept = (1 - p) ** (ranked.index(proposal) - ranked.index(last))
        if rng.random() < min(1, accept):
            return proposal
