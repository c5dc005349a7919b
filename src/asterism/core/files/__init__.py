"""Reading and writing files: safely, within limits, whole or not at all."""
