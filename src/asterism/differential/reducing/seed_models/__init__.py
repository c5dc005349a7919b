"""The seed models, one module for each kind."""
