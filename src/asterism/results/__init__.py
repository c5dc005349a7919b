"""Results of commits, experiments and the workspace, beside each other."""
