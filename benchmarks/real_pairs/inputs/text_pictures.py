"""Pictures of lines of text, in the machine's own fonts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from real_pairs.inputs import INPUT_MAKERS, Find, InputMaker, MadeInputs
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
class TextPictures(InputMaker):
    """Lines of words in many fonts, sizes and greys, on noisy grounds."""

    class Options(ParameterSection):
        """How pictures look."""

        height: int = Field(ge=16, description="pixels of a picture")
        width: int = Field(ge=16, description="pixels of a picture")
        lines: int = Field(ge=1, description="most lines of text")
        words: int = Field(ge=1, description="most words in a line")
        upside_down: bool = Field(description="half of them are turned; labels say which")

    @staticmethod
    def make(count: int, options: Options, rng: np.random.Generator, find: Find) -> MadeInputs:
        """See :meth:`.InputMaker.make`: uint8 ``(N, H, W, 3)``."""
        pictures = np.stack([_picture(options, rng) for _ in range(count)])
        if not options.upside_down:
            return MadeInputs(pictures)
        labels = rng.permutation(np.arange(count) % 2)
        pictures[labels == 1] = pictures[labels == 1, ::-1, ::-1]
        return MadeInputs(pictures, labels)


def _picture(options: TextPictures.Options, rng: np.random.Generator) -> NDArray[np.uint8]:
    from PIL import Image, ImageDraw, ImageFont

    lines = int(rng.integers(1, options.lines, endpoint=True))
    room = options.height // lines
    ground, ink = int(rng.integers(150, 256)), int(rng.integers(0, 110))
    image = Image.new("RGB", (options.width, options.height), (ground,) * 3)
    draw = ImageDraw.Draw(image)
    for line in range(lines):
        text = " ".join(rng.choice(words(), rng.integers(1, options.words, endpoint=True)))
        size = min(40, int(room * rng.uniform(0.5, 0.8)))
        font = ImageFont.truetype(str(fonts()[rng.integers(len(fonts()))]), size)
        place = int(rng.integers(2, 10)), room * line + int(rng.integers(0, max(1, room // 6)))
        draw.text(place, text, font=font, fill=(ink,) * 3)
    noise = rng.normal(0, rng.uniform(0, 20), (options.height, options.width, 1))
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
