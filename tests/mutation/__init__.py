"""Puts small faults into the source, one at a time, and counts those that no test notices."""
