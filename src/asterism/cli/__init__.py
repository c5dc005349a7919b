"""The ``asterism`` command."""

from asterism.cli import (
    comparison,
    diagnosis,
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
    "libraries",
    "main",
    "models",
    "pipeline",
    "projects",
    "reproduction",
    "versions",
]
