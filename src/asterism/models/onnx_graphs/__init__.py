"""ONNX graphs: writing them, and the order of their nodes."""
