"""Inputs of any kind that a user supplies as a file or a folder."""
