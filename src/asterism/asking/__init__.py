"""Settling how to vet a pair of models, by running the original before anything else."""
