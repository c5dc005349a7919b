"""The ``asterism`` command."""

from asterism.core.files.interrupts import run_command


def main() -> None:
    """Entry point: the command that the arguments name."""
    run_command(_run)


def _run() -> None:
    from asterism.cli.commands import run  # imports all of them: an interrupt may come meanwhile

    run()
