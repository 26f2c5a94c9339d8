"""A real browser for the tests: headless Chromium, controlled over two pipes."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
# A start takes long on a busy machine.
SECONDS = 120
POLL_SECONDS = 0.02
# Where the first process is not an init, exited processes that are not reaped stay visible.
HELPER_SECONDS = 10


def find_browser() -> str | None:
    """Returns its path, None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def high_pipe() -> tuple[int, int]:
    """Returns both ends of a pipe, with other descriptor numbers than the browser needs."""
    low = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low]
    for end in low:
        os.close(end)
    return high[0], high[1]


class Browser:
    """One page; commands are those of the DevTools protocol."""

    def __init__(self) -> None:
        path = find_browser()
        if path is None:
            raise RuntimeError(f"none of {', '.join(NAMES)} is installed")
        self._profile = tempfile.TemporaryDirectory(
            prefix="bench-browser-", ignore_cleanup_errors=True
        )
        # Chromium reads commands from 3 and writes responses to 4. The shell sets them up from
        # ours.
        commands, self._out = high_pipe()
        self._in, answers = high_pipe()
        shell = f'exec "$0" "$@" 3<&{commands} 4>&{answers} {commands}<&- {answers}>&-'
        arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._profile.name}",
            "about:blank",
        ]
        self._process = subprocess.Popen(
            ["bash", "-c", shell, path, *arguments],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(commands)
        os.close(answers)
        self._buffer = b""
        self._number = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        self.call("Page.enable")
        self.call("Log.enable")
        self.call("Runtime.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops the browser and removes its profile."""
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._end_helpers()
        self._profile.cleanup()

    def _end_helpers(self) -> None:
        """Kills processes of the browser, which would still write to the profile."""
        deadline = time.monotonic() + HELPER_SECONDS
        while time.monotonic() < deadline:
            try:
                # All of them are in the session whose leader is the browser.
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            time.sleep(POLL_SECONDS)

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Sends a command and returns its response; events in the meantime are stored."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") != self._number:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            result: dict[str, Any] = answer["result"]
            return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            more = os.read(self._in, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self._buffer += more
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        return message

    def show(self, page: Path, *, width: int, dark: bool) -> None:
        """Opens a file on a screen of that width, and waits until it is loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(one.get("method") == "Page.loadEventFired" for one in self.events):
            self.events.append(self._read())

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401  whatever the page says
        """Returns the value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def picture(self, target: Path, *, height: int = 900, top: int = 0) -> None:
        """Takes a screenshot of a part of the page, for manual checks."""
        width = self.evaluate("innerWidth")
        clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
        found = self.call(
            "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
        )
        target.write_bytes(base64.b64decode(found["data"]))
