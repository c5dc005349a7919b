"""What is asked about a pair of models, settled by a look at the original before anything runs."""
