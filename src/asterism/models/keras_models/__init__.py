"""Keras model files: read without running their code, and what their outputs mean."""
