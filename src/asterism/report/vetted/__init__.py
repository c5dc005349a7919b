"""The page about a vetted pair."""
