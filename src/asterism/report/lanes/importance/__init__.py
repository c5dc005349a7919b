"""The section on neurons that matter, and whether tests exercise them."""

from asterism.report.lanes.importance.section import importance_section

__all__ = ["importance_section"]
