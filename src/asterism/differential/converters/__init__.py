"""Converters from Keras to files that other libraries read."""
