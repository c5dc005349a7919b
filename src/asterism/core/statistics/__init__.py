"""Statistics of what was counted."""
