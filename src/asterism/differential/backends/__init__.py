"""The libraries under test, one file each."""
