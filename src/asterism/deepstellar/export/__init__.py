"""The Markov chain for people and for model checkers."""
