"""What is printed and logged: as it is where it is plain, and never more than text."""

import io
import json
import logging
import os
import pty
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from asterism.core.messages.console import _LogFile
from asterism.core.messages.errors import UserError
from asterism.core.messages.escaping import printable
from asterism.core.messages.terminal import EscapedStream, say, say_json
from terminal_text import HOSTILE, tame
from thinning import every

ANY = st.text(st.characters(exclude_categories=()))


@given(ANY)
@example(HOSTILE)
def test_what_is_printable_is_one_line_that_stays_as_it_is(text):
    shown = printable(text)
    assert tame(shown) and "\n" not in shown
    assert shown.encode().decode() == shown
    assert printable(shown) == shown


@pytest.mark.parametrize(
    "text",
    ["", "naïve Ünïcödé e\u0301", "日本語\u3000の名前", "العربية עברית", "हिन्दी ไทย", "1\xa0000 €",
     "∑ → – █░ \\ \"'", "🎉👍🏽❤️"],
)  # fmt: skip
def test_ordinary_text_of_all_scripts_stays(text):
    assert printable(text) == text


def printed(capsys, *lines, **given):
    say(*lines, **given)
    return capsys.readouterr()


@given(st.lists(ANY))
def test_each_argument_is_one_line(lines):
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        say(*lines)
    assert tame(stream.getvalue()) and stream.getvalue().count("\n") == len(lines)


def test_a_text_of_megabytes_is_shortened_except_for_programs(capsys):
    assert len(printed(capsys, "a" * 5_000_000).out) < 20_000
    say_json({"name": "a" * 5_000_000 + HOSTILE})
    told = capsys.readouterr().out
    assert json.loads(told)["name"].endswith(HOSTILE) and told.isascii() and tame(told)


def test_an_error_quotes_a_file_on_one_plain_line():
    told = str(UserError(f"m.onnx: input {HOSTILE}\ud800"))
    assert tame(told) and "\n" not in told


PROGRAM = f"""
import sys, warnings
from asterism.core.messages.terminal import escape_streams, say
escape_streams()
hostile = {HOSTILE!r}
say("ä" + hostile, "\\ud800")
say(hostile, error=True)
import logging, asterism.dvc_hydra
from dvc.ui import ui
logging.getLogger("dvc").info(hostile)
logging.getLogger("dvc").warning(hostile)
ui.enable(); ui.write(hostile); ui.error_write(hostile)
warnings.warn(hostile)
print(hostile.replace("\\n", "")); print(hostile.replace("\\n", ""), file=sys.stderr)
sys.stderr.writelines(["\\ud800", "é"])
say("the end")
"""


@pytest.mark.parametrize("encoding", every(3, ["ascii", "utf-8", "latin-1"]))
def test_nothing_in_a_process_commands_the_terminal_or_fails_on_its_encoding(encoding):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("\\nerror: forged", "")],
        env=os.environ | {"PYTHONIOENCODING": encoding, "LC_ALL": "C"},
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    out, err = done.stdout.decode(encoding), done.stderr.decode(encoding)
    assert done.returncode == 0, err
    assert tame(out) and tame(err)
    assert out.endswith("the end\n") and "\\x1b[2J" in out and "\\x1b[2J" in err


def test_on_a_terminal_a_library_has_colours_and_bars_and_nothing_else():
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w", encoding="utf-8") as terminal:
        stream = EscapedStream(terminal)
        stream.write("\x1b[31mred\x1b[0m\r\x1b[A\x1b[2J\x1b]0;title\x07\x1b[6n\u202e\x1b[9;9H")
        stream.flush()
        said = os.read(leader, 1 << 12).decode()
    os.close(leader)
    assert said == "\x1b[31mred\x1b[0m\r\x1b[A" + printable(
        "\x1b[2J\x1b]0;title\x07\x1b[6n\u202e\x1b[9;9H"
    )


@pytest.mark.parametrize(
    "command", every(4, ["--help", "--version", "environments", "state --json"])
)
def test_a_closed_pipe_is_the_end_without_a_word(command):
    program = f"import sys; sys.argv[1:] = {command.split()}; from asterism.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) in (1, 141)
    process.stderr.close()


def test_errors_whose_reader_is_gone_change_no_status():
    program = "from asterism.core.messages.terminal import say\nsay('x', error=True)\nexit(3)"
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE)
    process.stderr.close()
    assert process.wait(60) == 3


def test_streams_that_are_closed_take_nothing():
    program = (
        "from asterism.core.messages.terminal import escape_streams, say\n"
        "escape_streams(); say('x'); say('x', error=True); exit(3)"
    )
    command = ["sh", "-c", 'exec "$0" -c "$1" >&- 2>&-', sys.executable, program]
    assert subprocess.run(command, check=False).returncode == 3


INTERRUPTED = """
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
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
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
