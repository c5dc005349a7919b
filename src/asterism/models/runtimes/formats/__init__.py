"""Model files by format: one module each, which recognises, opens and runs them."""
