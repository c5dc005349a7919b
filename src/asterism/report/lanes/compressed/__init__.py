"""The section on compressed models: where they deviate, and repairs."""

from asterism.report.lanes.compressed.section import compressed

__all__ = ["compressed"]
