"""The oracle: what the libraries did compared, and the odd ones out named. Nothing is run."""
