"""The papers' experiments: running them, recording what they gave, and comparing it."""
