"""The section on recurrent networks: coverage, seeds and fuzzing campaigns."""

from asterism.report.lanes.stateful.section import stateful

__all__ = ["stateful"]
