"""Mutations of a layer's weights."""
