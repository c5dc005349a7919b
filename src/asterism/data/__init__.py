"""Data sets: one module per source, one :func:`load`."""

from asterism.data.sources import DataParams, Dataset, load, load_any

__all__ = ["DataParams", "Dataset", "load", "load_any"]
