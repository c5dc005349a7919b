"""What plug-ins are made of: names of backends, code that runs a model, probes, environments."""
