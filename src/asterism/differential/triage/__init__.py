"""From many findings to few: where each goes wrong, in the smallest model that shows it."""
