"""What a person sees while a stage runs."""

import logging
import subprocess
import sys

import pytest

from asterism.core.messages.console import _LogFile

PROGRAM = """
import os, signal, sys
from pathlib import Path
from asterism.core.messages.console import configure_logging, get_logger

class Screen:  # an interrupt while the first line is written
    def write(self, text):
        os.kill(os.getpid(), signal.SIGINT)
    def flush(self): pass
    def isatty(self): return False

signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever this was started from
sys.stderr = Screen()
configure_logging(None)
log = get_logger("asterism.test")
try:
    log.info("first")
except KeyboardInterrupt:
    sys.stderr = sys.__stderr__
    configure_logging(None)
    log.info("second")
    sys.exit(130)
"""


def test_an_interrupt_of_a_line_is_not_lost_and_blocks_nothing():
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 130, ended.stderr
    assert "second" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_lines_and_bars_need_no_lock_between_processes():
    program = (
        "import sys\n"
        "from asterism.core.messages.console import configure_logging, get_logger, progress\n"
        "configure_logging(None); get_logger('asterism.test').info('line')\n"
        "list(progress(range(3), label='bar'))\n"
        "assert 'multiprocessing.synchronize' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_what_a_line_quotes_of_a_file_does_not_command_the_terminal(tmp_path):
    program = (
        "import os\n"
        "from asterism.core.messages.console import configure_logging, get_logger\n"
        f"configure_logging(os.open({str(tmp_path / 'log')!r}, os.O_WRONLY | os.O_CREAT))\n"
        "get_logger('asterism.test').info('named \\x1b]0;title\\x07', name='\\x1b[2J', why='a\\nb')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    line = done.stderr.rstrip("\n")
    assert "named" in line
    assert line.isprintable()


@pytest.mark.parametrize(("reason", "told"), [(OSError(28, "full"), False), (TypeError(), True)])
def test_a_log_that_the_disk_has_no_room_for_is_not_told(tmp_path, capsys, reason, told):
    log = _LogFile(tmp_path / "log")
    try:
        raise reason
    except type(reason):
        log.handleError(logging.makeLogRecord({"msg": "line"}))
    assert ("Logging error" in capsys.readouterr().err) is told
    log.close()
