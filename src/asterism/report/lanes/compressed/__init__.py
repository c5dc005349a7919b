"""The section on compressed models: where they deviate, and repairs."""

from asterism.report.lanes.compressed.section import compressed_section

__all__ = ["compressed_section"]
