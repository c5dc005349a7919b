"""The tutorials of the manual: their files, their commands and the output that they show."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from places import ROOT

PAGES = sorted(page for page in ROOT.glob("docs/tutorials/*.md") if page.stem != "index")

_PART = re.compile(
    r"^File `(?P<file>[^`]+)`:\n\n```\w+\n(?P<content>.*?)^```$"
    r"|^```sh\n(?P<commands>.*?)^```$(?:\n\n```text\n(?P<shown>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_NUMBER = re.compile(r"-?\d[\d,.:]*")


@dataclass(frozen=True)
class Part:
    """A file to write, or commands to run.

    Attributes:
        file: the file's name; None for commands.
        text: what the file holds, or the commands.
        shown: lines of the output that the page shows.
    """

    file: str | None
    text: str
    shown: list[str]


def parts(page: Path) -> list[Part]:
    """What a reader of the page does, in its order."""
    found = []
    for match in _PART.finditer(page.read_text(encoding="utf-8")):
        shown = [line for line in (match["shown"] or "").splitlines() if line.strip("… ")]
        text = match["content"] if match["file"] else match["commands"]
        found.append(Part(match["file"], text, shown))
    return found


def follow(page: Path, folder: Path) -> list[tuple[Part, str]]:
    """Do what the page says in a folder; each block of commands with what it printed."""
    environment = dict(os.environ)
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = []
    for part in parts(page):
        if part.file:
            (folder / part.file).write_text(part.text, encoding="utf-8")
            continue
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", part.text],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert result.returncode == 0, f"{part.text}\n{result.stdout}"
        done.append((part, result.stdout))
    return done


def lacking(part: Part, output: str) -> list[str]:
    """Shown lines that the output has not, in this order; numbers may be others, … is anything.

    Another type of processor trains to other weights, so numbers are no more than examples.
    """
    printed, place, missing = output.splitlines(), 0, []
    for line in part.shown:
        found = [n for n in range(place, len(printed)) if _pattern(line).fullmatch(printed[n])]
        if found:
            place = found[0] + 1
        else:
            missing.append(line)
    return missing


def _pattern(line: str) -> re.Pattern[str]:
    """What a shown line stands for: any numbers, anything for an ellipsis, any spaces."""
    pieces = re.split(rf"({_NUMBER.pattern}|…|\s+)", line.strip())
    kinds = {"…": ".*", "": ""}
    told = [
        kinds.get(piece, r"\s+" if piece.isspace() else r"-?[\d.,:]+")
        if place % 2
        else re.escape(piece)
        for place, piece in enumerate(pieces)
    ]
    return re.compile(rf"\s*{''.join(told)}\s*")


if __name__ == "__main__":  # to write a page: `python tests/manual/tutorials.py PAGE FOLDER`
    for command, output in follow(Path(sys.argv[1]).resolve(), Path(sys.argv[2])):
        sys.stdout.write(f"$ {command.text}{output}\n")
