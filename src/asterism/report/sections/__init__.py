"""The lanes' sections of the report, one module each; each says its place on the page."""
