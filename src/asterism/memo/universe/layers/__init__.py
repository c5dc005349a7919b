"""The universe: one declaration for each layer type, a module for each family."""
