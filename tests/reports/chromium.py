"""Chromium without a window, driven over its DevTools pipe: JSON between NUL bytes."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 120
"""Seconds that an answer may take; a busy machine starts a browser slowly."""

_OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-extensions"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe", "about:blank"),
)


def find() -> str | None:
    """Return the path of a Chromium, if this machine has one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """A tab, and all that it complained of and asked for since a file was opened."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out, self._in = to_browser, from_browser
        self._held = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, path: Path, width: int, *, dark: bool = False) -> None:
        """Show a file in a window so wide, and wait until it is loaded."""
        self.resize(width)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.complaints.clear()
        self.requests.clear()
        self._loaded = False
        self.call("Page.navigate", url=path.as_uri())
        while not self._loaded:
            self._note(self._read())

    def resize(self, width: int) -> None:
        """Make the window so wide; a narrow one is a phone's."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression, or what it promises."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key, such as ``Enter``."""
        code = {"Enter": 13, "Tab": 9}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            extra = text if kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **extra
            )

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the DevTools protocol and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _read(self) -> Any:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            assert ready, "Chromium does not answer"
            chunk = os.read(self._in, 1 << 20)
            assert chunk, "Chromium ended"
            self._held += chunk
        message, _, self._held = self._held.partition(b"\0")
        return json.loads(message)

    def _note(self, event: Any) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str(params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])


@contextlib.contextmanager
def browsing(program: str, profile: Path) -> Iterator[Page]:
    """Start Chromium with an empty profile, and end it."""
    (child_in, out), (into, child_out) = os.pipe(), os.pipe()
    # Above 3 and 4, where the browser expects its ends of the pipes.
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (child_in, child_out)]
    null = os.open(os.devnull, os.O_RDWR)
    pid = os.posix_spawn(
        program,
        [program, f"--user-data-dir={profile}", *_OPTIONS],
        os.environ,
        file_actions=[
            *((os.POSIX_SPAWN_DUP2, null, standard) for standard in (0, 1, 2)),
            *((os.POSIX_SPAWN_DUP2, end, place) for end, place in zip(high, (3, 4), strict=True)),
        ],
    )
    for end in (child_in, child_out, *high, null):
        os.close(end)
    try:
        page = Page(out, into)
        yield page
        page._session = None
        page.call("Browser.close")
    finally:
        os.close(out)
        os.close(into)
        os.waitpid(pid, 0)
