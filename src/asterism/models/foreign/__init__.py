"""Model files that others made, checked as a whole before a library reads them."""
