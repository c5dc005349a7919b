"""Compression: quantisation, pruning and distillation, by the libraries' own means."""
