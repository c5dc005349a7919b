"""What every lane stands on: errors, registries, parameters, artifacts, streams, progress."""
