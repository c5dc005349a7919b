"""Faults seeded into copies of backends, to measure what the oracle finds."""
