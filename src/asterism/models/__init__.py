"""Models: architectures by name, training, and opening model files."""
