"""Adversarial inputs and other augmentations to a test set."""
