"""Delta debugging: the smallest model, or part of one, that still shows a finding."""
