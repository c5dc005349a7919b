"""Worker processes: how they are started, asked, limited and ended."""
