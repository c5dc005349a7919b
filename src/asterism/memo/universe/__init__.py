"""The layer universe: which layers there are, with which parameters, on which tensors."""
