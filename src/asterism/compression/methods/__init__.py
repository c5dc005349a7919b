"""Compression methods, one module for each library or idea."""
