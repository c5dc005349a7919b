"""Where images come from, one module each."""
