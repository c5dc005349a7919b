"""The section on recurrent networks: coverage, seeds and fuzzing campaigns."""

from asterism.report.lanes.stateful.section import stateful_section

__all__ = ["stateful_section"]
