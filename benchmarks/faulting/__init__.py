"""What ``benchmarks/faults.py`` is made of: projects, disturbances, and what is compared after."""
