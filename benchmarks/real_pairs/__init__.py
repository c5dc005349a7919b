"""Real pairs: models that packages carry, what they are compressed to here, and vetting them."""
