"""Coverage and similarity of sets of inputs (section 4)."""
