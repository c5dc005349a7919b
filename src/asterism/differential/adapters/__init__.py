"""What backends are made of: converters, reference arithmetic, environments and versions."""
