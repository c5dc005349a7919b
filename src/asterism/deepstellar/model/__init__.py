"""The quantitative model of a network: abstraction, Markov chain and boundary (section 3)."""
