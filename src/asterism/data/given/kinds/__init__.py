"""Kinds of inputs by name."""
