"""Deep-learning libraries under test: workers, oracle, triage and bug reports."""
