"""Searching for inputs on which a compressed model deviates from its original, and repairing it."""
