"""Routes, filed by name in :data:`asterism.findings.calls.route.ROUTES`."""
