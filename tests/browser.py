"""A headless Chromium driven over the DevTools protocol, through a pipe: no port, no further package."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

_FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--no-default-browser-check", "--disable-extensions", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--mute-audio", "--hide-scrollbars",
    "--remote-debugging-pipe",
]  # fmt: skip
_PATIENCE = 60.0


def find_chromium() -> str:
    """Return the browser's path; skips the test where there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")


class Page:
    """One page, with everything that it asked for and complained of.

    Attributes:
        requests: Addresses that it asked for, in order.
        problems: Console errors and warnings, exceptions and security reports.
    """

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._write, self._read = to_browser, from_browser
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self._loaded = False
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> Any:
        """Ask the browser for something and return its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        while True:
            answer = self._next(_PATIENCE)
            assert answer is not None, f"the browser did not answer {method}"
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._note(answer)

    def open(self, address: str) -> None:
        """Go to an address and wait until it has loaded."""
        self._loaded = False
        answer = self.send("Page.navigate", url=address)
        assert not answer.get("errorText"), f"{address}: {answer['errorText']}"
        if "loaderId" not in answer:
            return  # another place of the same document
        self._until(lambda: self._loaded, f"{address} to load")

    def size(self, width: int, height: int = 800, *, dark: bool = False) -> None:
        """Set the window's size in CSS pixels, and the colour scheme that the reader prefers."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def run(self, script: str) -> Any:
        """Return the value of an expression."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, script: str, patience: float = _PATIENCE) -> Any:
        """Return the value of an expression once it is true."""
        found: list[Any] = []

        def there() -> bool:
            found[:] = [self.run(script)]
            return bool(found[0])

        self._until(there, script, patience)
        return found[0]

    def text(self) -> str:
        """Return all text that can be seen."""
        return str(self.run("document.body ? document.body.innerText : ''"))

    def click(self, script: str) -> None:
        """Press the mouse on the middle of the element that an expression gives, once it stands still."""
        place = (
            f"(() => {{ const e = {script}; if (!e) return null; e.scrollIntoView({{block: 'center'}});"
            " const b = e.getBoundingClientRect(), x = b.x + b.width / 2, y = b.y + b.height / 2;"
            " const top = document.elementFromPoint(x, y);"
            " return b.width && top && (e.contains(top) || top.contains(e)) ? [x, y] : null })()"
        )
        before, now = None, self.wait_for(place)
        while now != before:
            time.sleep(0.15)
            before, now = now, self.wait_for(place)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = "none" if kind == "mouseMoved" else "left"
            self.send("Input.dispatchMouseEvent", type=kind, x=now[0], y=now[1], button=button, clickCount=1)

    def picture(self, path: Path, *, whole: bool = True) -> Path:
        """Write a PNG of the page, for a person to look at."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
        return path

    def _until(self, true: Any, what: str, patience: float = _PATIENCE) -> None:
        end = time.monotonic() + patience
        while not true():
            assert time.monotonic() < end, f"waited {patience:.0f} s for {what}; page: {self._where()}"
            message = self._next(0.2)
            if message is not None:
                self._note(message)

    def _where(self) -> str:
        with suppress(AssertionError):
            return self.text()[:1500]
        return "no answer"

    def _next(self, patience: float) -> dict[str, Any] | None:
        end = time.monotonic() + patience
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None
            piece = os.read(self._read, 1 << 20)
            assert piece, "the browser has ended"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer = json.loads(message)
        assert isinstance(answer, dict)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(str(params["exceptionDetails"].get("text")))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(arg.get("value")) for arg in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """Start a browser whose profile lies in a folder, and end it with all its children.

    Args:
        folder: An empty folder.
    """
    program = find_chromium()
    # The browser reads commands from descriptor 3 and answers on 4; ours must not lie there.
    commands, to_browser, from_browser, answers = (_moved(end) for end in (*os.pipe(), *os.pipe()))
    log = os.open(folder / "browser.log", os.O_WRONLY | os.O_CREAT)
    process = os.posix_spawn(
        program,
        [program, *_FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"],
        {**os.environ, "HOME": str(folder)},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, commands, 3),
            (os.POSIX_SPAWN_DUP2, answers, 4),
            (os.POSIX_SPAWN_DUP2, log, 1),
            (os.POSIX_SPAWN_DUP2, log, 2),
        ],
        setpgroup=0,
    )
    for end in (commands, answers, log):
        os.close(end)
    try:
        yield Page(to_browser, from_browser)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(to_browser)
        os.close(from_browser)


def _moved(descriptor: int) -> int:
    """Give a descriptor a number above those that the browser uses."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved
