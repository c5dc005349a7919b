"""Models as graphs of declared layers: their weights and coverage, read from Keras and built."""
