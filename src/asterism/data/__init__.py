"""Data sets: one module per source, one :func:`load`."""

from asterism.data.dataset import Dataset, load, load_any
from asterism.data.params import DataParams

__all__ = ["DataParams", "Dataset", "load", "load_any"]
