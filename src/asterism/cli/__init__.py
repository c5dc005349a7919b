"""The ``asterism`` command."""

from asterism.core.files.interrupts import run_command


def main() -> None:
    """Entry point: the command that the arguments name."""
    run_command(run)


def run() -> None:
    """Run the command, without what :func:`main` does about interrupts."""
    from asterism.cli import commands  # imports all of them: an interrupt may come meanwhile
    from asterism.cli.program import run_program

    run_program(commands.app, "asterism")
