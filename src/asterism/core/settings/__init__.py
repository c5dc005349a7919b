"""Settings of this machine, and reading YAML files."""
