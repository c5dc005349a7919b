"""Criteria, one module for each family of them."""
