"""One self-contained HTML page of everything that a run found."""
