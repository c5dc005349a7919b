"""Algorithm 1: seed models reduced without loss of coverage."""
