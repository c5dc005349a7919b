"""Tables of functions, filed by framework in :data:`asterism.findings.calls.table.TABLES`."""
