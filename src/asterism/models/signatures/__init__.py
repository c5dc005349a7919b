"""What model files take and give, read from the files without running them."""
