"""Layers of a Keras model as one flat graph, and its scores before the softmax."""
