"""The operators that are tried one by one, whose models tests make once."""

from functools import cache

from asterism.differential.subjects.operators import operator_subjects


@cache
def tried_operators():
    """A model of every operator in every combination of its options."""
    return tuple(operator_subjects())
