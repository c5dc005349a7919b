"""Asterism: a reproducible pipeline that tests deep-learning systems."""

__version__ = "0.1.0"
