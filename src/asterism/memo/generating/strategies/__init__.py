"""Ways to generate models: MEMO, its ablations and the baselines."""
