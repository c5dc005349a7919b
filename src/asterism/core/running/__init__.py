"""Running one stage as a process."""
