"""The section on deep-learning libraries that compute different results."""

from asterism.report.lanes.libraries.section import libraries_section

__all__ = ["libraries_section"]
