"""Choosing the initial seeds of the fuzzer."""
