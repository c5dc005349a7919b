"""The scripts of a call that goes wrong: a short one that shows it, and one that decides."""

from __future__ import annotations

from importlib.resources import files

from asterism.findings.calls.judging import ACCEPTS, DIES, FAILS, HANGS
from asterism.findings.calls.program import Program
from asterism.findings.calls.running import Ran
from asterism.libraries.judging.compare import DIFFERENCES
from asterism.libraries.judging.finding import failed_condition

#: Seconds after which a script hangs.
_HANG_SECONDS = 120
_TEMPLATE = "check_call.py.txt"


def short_text(
    program: Program, word: str, signature: str, versions: str, plain_fails: bool = False
) -> str:
    """The short script: it prints what is expected and what comes.

    Args:
        program: the call and the way.
        word: the symptom.
        signature: the finding's name.
        versions: of the packages, in words.
        plain_fails: whether the plain call raises an exception.
    """
    way = program.way
    expected = f"{way.expected}\nprint('expected', expected)\n"
    if word == ACCEPTS or plain_fails:
        lines = "\n".join(f"    {line}" for line in way.expected.split("\n"))
        expected = (
            f"try:\n{lines}\nexcept Exception as error:\n"
            "    print('expected', type(error).__name__, error)\n"
        )
    head = f'"""{signature}. Seen with {versions}; see check.py."""\n\n'
    return (
        f"{head}{program.imports}\n\n{program.function()}{expected}{way.lines}\n"
        "print('actual  ', actual)\n"
    )


def check_text(word: str, signature: str, indirect: Ran, plain: Ran, allowed: list[float]) -> str:
    """The script that decides.

    Args:
        word: the symptom.
        signature: the finding's name.
        indirect: how the way ended.
        plain: how the plain call ended.
        allowed: largest deviation of each output that rounding explains.
    """
    text = files("asterism.findings.calls").joinpath(_TEMPLATE).read_text(encoding="utf-8")
    odd = plain if word == ACCEPTS else indirect
    known = {
        "SIGNATURE": signature,
        "SYMPTOM": word,
        "EXCEPTION": odd.exception if word in (FAILS, DIES, ACCEPTS) else "",
        "WORDS": words_of(odd.message) if word == FAILS else [],
        "ALLOWED": allowed if word in DIFFERENCES else [],
        "DTYPES": list(plain.dtypes) if word in DIFFERENCES else [],
        "SECONDS": _HANG_SECONDS if word == HANGS else 280,
    }
    for name, value in known.items():
        shown = value if name == "SIGNATURE" else repr(value)
        text = text.replace(f"@{name}@", str(shown))
    return text


def words_of(message: str) -> list[str]:
    """Words of a message that do not differ from run to run, after the condition that failed."""
    condition, rest = failed_condition(message)
    plain = (word.strip(".,:;()[]'\"") for word in rest.split())
    told = [word for word in plain if word.isalpha() and len(word) > 2][:8]
    return [condition, *told] if condition else told
