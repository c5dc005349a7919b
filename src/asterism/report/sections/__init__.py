"""The lanes' sections, one module each, in the order of their names' registration."""
