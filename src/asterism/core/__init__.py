"""What every lane builds on: errors, registries, parameters, artifacts, random streams."""
