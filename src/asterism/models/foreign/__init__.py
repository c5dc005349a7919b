"""Model files that others made: checked against their format, and rewritten with names of ours."""
