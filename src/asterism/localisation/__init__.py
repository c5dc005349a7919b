"""Which nodes of a compressed model cause its deviations, and a file in which they are repaired."""
