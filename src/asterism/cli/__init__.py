"""The ``asterism`` command."""

from asterism.cli import models, pipeline, projects, reproduction, versions
from asterism.cli.program import app, main

__all__ = ["app", "main", "models", "pipeline", "projects", "reproduction", "versions"]
