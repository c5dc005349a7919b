"""Reference arithmetic: float64 runs, and operators in NumPy; no library under test enters."""
