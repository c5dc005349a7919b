"""Seeded random streams."""
