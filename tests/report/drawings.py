"""What is drawn in the pictures of a page."""

import base64
import re

_DRAWING = re.compile(r'<img alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]*)">')


def unfolded(markup):
    """Markup with the text of each drawing in place of its image."""
    return _DRAWING.sub(
        lambda found: f"{found.group(1)}{base64.b64decode(found.group(2)).decode()}", str(markup)
    )
