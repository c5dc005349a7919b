"""A text that commands a terminal, forges lines and turns others around."""

import unicodedata

#: Clears the screen, names the window, fills the clipboard, links, goes back and up, and more.
HOSTILE = (
    "\x1b[2J\x1b]0;t\x07\x1b]52;c;QQ==\x07\x1b]8;;http://x\x1b\\\x9b2J\x90q\x9c\b\r\x1b[A\x1b[8m"
    "\nerror: forged"
    "\x0b\x85\u2028\u2029\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\ufeff"
    "\u00ad\u061c\ue000\U000e0041\U0010ffff\x00\x7f"
)


def tame(said):
    """Whether a text has only lines of letters, marks, digits, signs and blanks; none is forged."""
    return not any(line.startswith("error: forged") for line in said.split("\n")) and all(
        letter == "\n" or (kind := unicodedata.category(letter))[0] in "LMNPS" or kind == "Zs"
        for letter in said
    )
