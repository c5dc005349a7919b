"""Calls of single functions of a library, run as they are and by compiled or converted variants."""
