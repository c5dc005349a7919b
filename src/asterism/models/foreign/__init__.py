"""Model files of others, rewritten with names of ours before any library sees them."""
