"""What people get of a finding: a script that reproduces it, a bug report, the model's file."""
