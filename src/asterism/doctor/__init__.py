"""What ``asterism doctor`` looks at: software, machine and project."""
