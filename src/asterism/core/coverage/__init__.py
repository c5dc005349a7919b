"""The interface that every coverage criterion has."""
