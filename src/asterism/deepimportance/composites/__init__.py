"""Composites, one name for each: discovered when one is looked up."""
