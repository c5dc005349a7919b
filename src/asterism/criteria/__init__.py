"""Published test-adequacy criteria over the activations of a network, streaming."""
