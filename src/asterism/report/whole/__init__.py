"""The report: one page with the sections of all lanes that have results."""
