"""Runtimes by format."""
