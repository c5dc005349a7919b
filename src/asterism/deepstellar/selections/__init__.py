"""Strategies of choosing parents from the queue."""
