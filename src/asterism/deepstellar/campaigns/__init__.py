"""The parts and results of a fuzzing campaign: mutants, corpus, misclassified mutants, files."""
