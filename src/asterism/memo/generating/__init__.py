"""Algorithm 2: models mutated towards what no model has covered, and its baselines."""
