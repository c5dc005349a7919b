"""Opening any supported model file: named inputs in, named outputs out."""
