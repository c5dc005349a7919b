"""Deep-learning libraries under test, from running a model in all of them to a bug report."""
