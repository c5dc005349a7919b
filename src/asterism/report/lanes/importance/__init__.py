"""The section on neurons that matter, and whether tests exercise them."""

from asterism.report.lanes.importance.section import importance

__all__ = ["importance"]
