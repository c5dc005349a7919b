"""Recognisers of speech, clips for them, and what a search of their compressed files finds."""
