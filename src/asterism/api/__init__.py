"""Asterism for programs in Python: models and inputs are objects of the caller's process."""
