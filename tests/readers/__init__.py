"""The readers' fuzzing: damaged and hostile files, read in child processes that are watched.

``python -m readers --help`` (``make fuzz-readers``) tries many; ``test_readers.py`` a few hundred.
"""
