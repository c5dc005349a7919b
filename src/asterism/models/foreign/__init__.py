"""Model files from others: checked against their format, and rewritten with generated names."""
