"""Strategies of choosing parents from the corpus."""
