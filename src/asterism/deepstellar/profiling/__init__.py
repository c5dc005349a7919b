"""Recording hidden states of the training inputs."""
