"""The ``asterism`` command."""

from asterism.cli import (
    comparison,
    diagnosis,
    judging,
    libraries,
    models,
    pipeline,
    projects,
    reproduction,
    versions,
)
from asterism.cli.program import app, main

__all__ = [
    "app",
    "comparison",
    "diagnosis",
    "judging",
    "libraries",
    "main",
    "models",
    "pipeline",
    "projects",
    "reproduction",
    "versions",
]
