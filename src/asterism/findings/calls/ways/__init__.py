"""Ways, filed by name in :data:`asterism.findings.calls.way.WAYS`."""
