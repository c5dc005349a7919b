"""MEMO (Li et al., later COMET): a layer universe, model graphs, their reduction and generation."""
