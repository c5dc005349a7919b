"""The tutorials of the manual: their files, commands, shown output, and pictures.

To write a page, follow it: ``make tutorial PAGE=vet-a-compressed-model`` prints what its commands
print, and takes its pictures anew.
"""

import os
import re
import subprocess
import sys
import tempfile
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

#: A picture below the paragraph that names the page, or the part of one, which it shows.
_PICTURE = re.compile(
    r"`([^`\n]+\.html(?:#[\w-]+)?)`[^`]*?\n\n!\[[^\]]+\]\((\.\./images/[^)]+\.png)\)"
)

#: Width and height of pictures, in pixels.
_SIZE = (1420, 1000)


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


def pictures(page: Path) -> dict[Path, str]:
    """The pictures that a page shows, each with the page that its commands write, or a part."""
    found = _PICTURE.findall(page.read_text(encoding="utf-8"))
    return {(page.parent / picture).resolve(): shown for shown, picture in found}


def take(picture: Path, folder: Path, shown: str) -> None:
    """Take a picture of the top of a page in a browser, or of the part that is named after #."""
    file, _, part = shown.partition("#")
    from report.browser import Browser

    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(profile)
        try:
            opened = browser.page()
            opened.size(*_SIZE)
            opened.open(folder / file)
            opened.picture(picture, part=part or None)
        finally:
            browser.close()


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


def main(page: Path) -> None:
    """Follow a page in a new folder, print its output, and take its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        for command, output in follow(page, Path(folder)):
            sys.stdout.write(f"$ {command.text}{output}\n")
        for picture, shown in pictures(page).items():
            take(picture, Path(folder), shown)
            sys.stdout.write(f"{picture} is written\n")


if __name__ == "__main__":
    main(ROOT / "docs/tutorials" / f"{sys.argv[1]}.md")
