"""The ``asterism`` command."""

from asterism.cli import diagnosis, models, pipeline, projects, reproduction
from asterism.cli.program import app, main

__all__ = ["app", "diagnosis", "main", "models", "pipeline", "projects", "reproduction"]
