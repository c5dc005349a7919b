"""All that imports DVC and Hydra. It takes and gives this project's own types."""

import colorama

# By this DVC takes colours out of what it prints to a file. It fails at a window's title (colorama
# 0.4.6), and :mod:`asterism.core.messages.terminal` does it already.
colorama.init = lambda: None
