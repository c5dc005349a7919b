"""The sections of the report, a package for each lane."""
