"""Pictures of lines of text, in the machine's own fonts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.data.given import ArrayInputs
from real_pairs.inputs import INPUT_MAKERS, Find
from real_pairs.inputs.words import words

#: Folders of fonts, Debian's packages of them, and the fonts that are taken.
_FONTS = {
    "dejavu": ("fonts-dejavu-core", ("DejaVuSans", "DejaVuSansMono", "DejaVuSerif"), ("", "-Bold")),
    "liberation": (
        "fonts-liberation",
        ("LiberationSans", "LiberationSerif", "LiberationMono"),
        ("-Regular", "-Bold", "-Italic", "-BoldItalic"),
    ),
}


@INPUT_MAKERS.register("text_pictures")
def text_pictures(
    count: int,
    rng: np.random.Generator,
    find: Find,
    *,
    height: int,
    width: int,
    lines: int,
    words: int,
    upside_down: bool,
) -> ArrayInputs:
    """Lines of words in many fonts, sizes and greys, on noisy grounds.

    Inputs are uint8 ``(N, H, W, 3)``.

    Args:
        height: pixels of a picture.
        width: pixels of a picture.
        lines: most lines of text.
        words: most words in a line.
        upside_down: half of them are turned; labels say which.
    """
    pictures = np.stack([_picture(height, width, lines, words, rng) for _ in range(count)])
    if not upside_down:
        return ArrayInputs(pictures)
    labels = rng.permutation(np.arange(count) % 2)
    pictures[labels == 1] = pictures[labels == 1, ::-1, ::-1]
    return ArrayInputs(pictures, labels)


def _picture(
    height: int, width: int, most_lines: int, most_words: int, rng: np.random.Generator
) -> NDArray[np.uint8]:
    from PIL import Image, ImageDraw, ImageFont

    lines = int(rng.integers(1, most_lines, endpoint=True))
    room = height // lines
    ground, ink = int(rng.integers(150, 256)), int(rng.integers(0, 110))
    image = Image.new("RGB", (width, height), (ground,) * 3)
    draw = ImageDraw.Draw(image)
    for line in range(lines):
        text = " ".join(rng.choice(words(), rng.integers(1, most_words, endpoint=True)))
        size = min(40, int(room * rng.uniform(0.5, 0.8)))
        font = ImageFont.truetype(str(fonts()[rng.integers(len(fonts()))]), size)
        place = int(rng.integers(2, 10)), room * line + int(rng.integers(0, max(1, room // 6)))
        draw.text(place, text, font=font, fill=(ink,) * 3)
    noise = rng.normal(0, rng.uniform(0, 20), (height, width, 1))
    return np.clip(np.asarray(image, np.float32) + noise, 0, 255).astype(np.uint8)


@cache
def fonts() -> tuple[Path, ...]:
    """The fonts, always in the same order.

    Raises:
        UserError: a package of fonts is not installed.
    """
    found = []
    for folder, (package, families, styles) in _FONTS.items():
        for family in families:
            for style in styles:
                path = Path("/usr/share/fonts/truetype", folder, f"{family}{style}.ttf")
                if not path.exists():
                    raise UserError(f"there is no font {path}: `apt-get install {package}`")
                found.append(path)
    return tuple(found)
