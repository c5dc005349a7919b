"""Vetting a compressed model: how often it differs, where it matters, and what to do about it."""
