"""The script of a call that goes wrong: it shows it, and decides by its exit status."""

from __future__ import annotations

from textwrap import indent

from asterism.differential.oracle.finding import (
    CRASH,
    ERROR,
    HANG,
    SILENT_ACCEPTANCE,
    failed_condition,
)
from asterism.differential.report.python_text import in_docstring
from asterism.findings.calls.program import CallProgram
from asterism.findings.calls.running import TextRun

_COMPARED = """
def same(one, other, allowed):
    alike = one.dtype == other.dtype and one.shape == other.shape
    return alike and np.allclose(
        numbers(one), numbers(other), rtol=0, atol=allowed, equal_nan=True)

ones, others = arrays(actual), arrays(expected)
alike = len(ones) == len(others) and all(map(same, ones, others, ALLOWED))
sys.exit(int(not alike))
"""

_CAUGHT = """except Exception as error:
    print({name!r}, type(error).__name__, error)
"""


def script_text(
    program: CallProgram,
    word: str,
    signature: str,
    versions: str,
    indirect: TextRun,
    plain: TextRun,
    allowed: list[float],
) -> str:
    """The script: it prints what is expected and what comes, and exits 1 while the bug lives.

    Args:
        program: the call and the way.
        word: the symptom.
        signature: the finding's name.
        versions: of the packages, in words.
        indirect: how the way ended.
        plain: how the plain call ended.
        allowed: largest deviation of each output that rounding explains.
    """
    way = program.way
    expected = f"{way.expected}\nprint('expected', expected)\n"
    if word == SILENT_ACCEPTANCE or not plain.is_ok:
        expected = f"try:\n{indent(way.expected, '    ')}\n{_CAUGHT.format(name='expected')}"
    head = f'"""{in_docstring(signature)}. Seen with {in_docstring(versions)}."""\n'
    begin = f"{head}import sys\n{program.imports}\n\n{program.function()}{expected}"
    tried = f"try:\n{indent(way.lines, '    ')}\n{_CAUGHT.format(name='actual  ')}"
    shown = "print('actual  ', actual)\n"
    if word in (CRASH, HANG):
        return f"{begin}print('actual  : it ends otherwise', flush=True)\n{way.lines}\n"
    if word == SILENT_ACCEPTANCE:
        return f"{begin}{tried}    sys.exit(0)\n{shown}sys.exit(1)\n"
    if word == ERROR:
        name, words = indirect.exception.rpartition(".")[2], words_of(indirect.message)
        told = f"type(error).__name__ == {name!r} and all(w in str(error) for w in {words})"
        return f"{begin}{tried}    sys.exit(1 if {told} else 2)\n{shown}"
    made = f"{program.framework.arrays}\n{program.framework.numbers}"
    rounded = [float(f"{number:.3g}") for number in allowed]
    numpy = "" if "import numpy as np" in program.imports else "import numpy as np\n"
    return f"{begin}{way.lines}\n{shown}{numpy}{made}\n" + _COMPARED.replace(
        "ALLOWED", f"{rounded}"
    )


def words_of(message: str) -> list[str]:
    """Words of a message that do not differ from run to run, after the condition that failed."""
    condition, rest = failed_condition(message)
    plain = (word.strip(".,:;()[]'\"") for word in rest.split())
    told = [word for word in plain if word.isalpha() and len(word) > 2][:8]
    return [condition, *told] if condition else told
