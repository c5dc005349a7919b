"""Coverage-guided fuzzing of recurrent networks (Du et al., section 5)."""
