"""Typed parameters, and plug-ins that parameters choose by name."""
