"""Opening a page in a real browser: Chromium without a window, in a folder of its own."""

import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)

OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--allow-file-access-from-files",
]


def browse(page, folder, *options):
    """What Chromium prints of a page, after whatever the page does in three seconds.

    Args:
        page: a file.
        folder: an empty one for its profile.
        options: ``--dump-dom``, ``--screenshot=FILE``, …
    """
    profile = f"--user-data-dir={folder}"
    command = [CHROMIUM, *OPTIONS, profile, "--virtual-time-budget=3000", *options]
    done = subprocess.run(
        [*command, page.resolve().as_uri()],
        capture_output=True,
        check=True,
        timeout=120,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
    )
    return done.stdout.decode(errors="replace")
