"""Inputs that a user gives as a file or a folder, of any kind."""
