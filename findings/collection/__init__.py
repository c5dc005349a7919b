"""Keeps the collection of findings: campaigns that fill it, and checks that say which bugs live."""

from asterism.core.files.interrupts import run_command


def main() -> None:
    """Entry point of ``python findings``: the command that the arguments name."""
    run_command(_run)


def _run() -> None:
    from asterism.cli.program import run_program  # what is imported here may be interrupted
    from collection.commands import app

    run_program(app, "python findings")
