"""The ``asterism`` command."""

from asterism.cli import libraries, models, pipeline, projects, reproduction
from asterism.cli.program import app, main

__all__ = ["app", "libraries", "main", "models", "pipeline", "projects", "reproduction"]
