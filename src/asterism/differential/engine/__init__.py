"""Running models in the libraries: worker processes, what goes in, and what comes of it."""
