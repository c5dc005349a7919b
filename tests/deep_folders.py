"""Folders in folders, deeper than a path can be."""

import os


def deep_folder(path, levels=3000):
    """Make one, in which a file lies at the end."""
    path.mkdir(parents=True, exist_ok=True)
    here = os.open(path, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
