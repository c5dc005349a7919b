"""Training that gives the same weights every time."""
