"""Attacks, one module for each idea."""
