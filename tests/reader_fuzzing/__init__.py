"""The readers' fuzzing: damaged and hostile files, read in child processes that are watched.

``python -m reader_fuzzing --help`` (``make fuzz-readers``) tries many, ``test_readers.py`` some
hundreds.
"""
