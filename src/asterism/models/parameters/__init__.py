"""Parameters of models and their training."""
