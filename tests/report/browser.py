"""Opening pages in Chromium without a window: what it prints of one, and driving it.

It is driven through its DevTools protocol, over two pipes:
https://chromedevtools.github.io/devtools-protocol/. Scripts that are evaluated by it run whatever
the page's policy forbids, so that checks need no weaker policy.
"""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
from base64 import b64decode

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


class Page:
    """A page that is open.

    Attributes:
        complaints: what the console has been told, and errors of scripts.
        asked: addresses of files and servers that the page asked for, but its own.
    """

    def __init__(self, browser, session):
        self._browser, self._session = browser, session
        self.complaints, self.asked = [], []

    def call(self, method, **params):
        """What a method of the protocol answers; events on the way are noted."""
        return self._browser.call(method, params, self._session, self._note)

    def _note(self, event):
        method, params = event["method"], event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str([a.get("value") for a in params["args"]]))
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith("data:"):
                self.asked.append(url)

    def open(self, file):
        """Load a file and wait until the page has drawn."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        told = self.call("Page.navigate", url=file.resolve().as_uri())
        assert "errorText" not in told, (file, told)
        self.run(
            "new Promise(done => document.readyState === 'complete' ? done()"
            " : addEventListener('load', done))"
        )
        self.settle()

    def settle(self):
        """Wait for two frames, in which the page reacts to what was done."""
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def run(self, expression):
        """The value of an expression of JavaScript, awaited where it is a promise."""
        done = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def size(self, width, height, scheme="light", media=""):
        """Show the page in a window so wide and high, in a colour scheme, on a medium."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", media=media, features=[feature])
        self.settle()

    def press(self, key, code=0):
        """Press a key and let it go."""
        text = {"Enter": "\r"}.get(key, "")
        names = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **names)
        self.call("Input.dispatchKeyEvent", type="keyUp", **names)
        self.settle()

    def picture(self, target, part=None):
        """Write a picture of the window, or of the part of the page with this id and its margin."""
        clip = {}
        if part is not None:
            corners = self.run(
                "(e => ({x: e.x + scrollX - 16, y: e.y + scrollY - 4, "
                "width: e.width + 32, height: e.height + 8}))"
                f"(document.getElementById({json.dumps(part)}).getBoundingClientRect())"
            )
            clip = {"clip": corners | {"scale": 1}}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=bool(clip), **clip)
        target.write_bytes(b64decode(shot["data"]))


def _pipe():
    """The two ends of a pipe, whose numbers are none that Chromium's own pipes have."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved


class Browser:
    """A Chromium without a window."""

    def __init__(self, profile):
        theirs, self._to = _pipe()
        self._from, theirs_out = _pipe()
        self._number, self._rest = 0, b""
        # Chromium reads commands from descriptor 3 and writes answers to descriptor 4.
        shell = f'exec "$@" 3<&{theirs} 4>&{theirs_out}'
        command = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "chromium", *command],
            pass_fds=(theirs, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"HOME": str(profile), "PATH": "/usr/bin:/bin"},
        )
        os.close(theirs)
        os.close(theirs_out)

    def call(self, method, params, session=None, note=lambda event: None):
        """Send a command, and give its answer; events of the session go to ``note``."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": params}
        message = asked | ({"sessionId": session} if session else {})
        left = memoryview(json.dumps(message).encode() + b"\0")
        while left:
            left = left[os.write(self._to, left) :]
        while True:
            told = self._read()
            if told.get("id") == self._number:
                assert "error" not in told, (method, told["error"])
                return told["result"]
            if "method" in told and told.get("sessionId") == session:
                note(told)

    def _read(self):
        while b"\0" not in self._rest:
            part = os.read(self._from, 1 << 20)
            assert part, "Chromium ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def page(self):
        """A new page."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        asked = {"targetId": target, "flatten": True}
        return Page(self, self.call("Target.attachToTarget", asked)["sessionId"])

    def close(self):
        """End the browser and everything that it has started."""
        with contextlib.suppress(OSError, AssertionError):
            self.call("Browser.close", {})
        os.close(self._to)
        os.close(self._from)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
