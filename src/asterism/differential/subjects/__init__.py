"""Kinds of model files that are run as they are, one module for each."""
