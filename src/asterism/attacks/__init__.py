"""Adversarial inputs and other additions to a test set."""
