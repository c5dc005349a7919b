"""Where a compressed model deviates from its original: searching for such inputs, and repair."""
