"""Versions of libraries side by side: their environments, and what an upgrade changes."""
