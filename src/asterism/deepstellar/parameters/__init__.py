"""Parameters of the stateful lane."""
