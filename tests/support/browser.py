"""A real browser for the page's tests: Chromium, spoken to by the DevTools protocol through a pair of pipes.

https://chromedevtools.github.io/devtools-protocol/ describes the messages; with --remote-debugging-pipe they are JSON
ended by a zero byte, on the file descriptors 3 and 4.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PATIENCE_S = 60.0
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    "--remote-debugging-pipe",
)
KEYS = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowRight": 39, "ArrowLeft": 37}


class Browser:
    def __init__(self, reading: int, writing: int) -> None:
        self.reading, self.writing = reading, writing
        self.number = 0
        self.buffer = b""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Raises AssertionError where the browser reports an error, or nothing for long."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        os.write(self.writing, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            readable, _, _ = select.select([self.reading], [], [], PATIENCE_S)
            assert readable, f"the browser did not answer for {PATIENCE_S:.0f} s"
            data = os.read(self.reading, 1 << 20)
            assert data, "the browser has ended"
            self.buffer += data
        raw, _, self.buffer = self.buffer.partition(b"\0")
        return dict(json.loads(raw))

    def open(self, file: Path, width: int, scripts: bool = True) -> Tab:
        """A page of its own, as wide as a desktop's window or a phone's."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        tab.call("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=width < 600)
        tab.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        tab.call("Emulation.setFocusEmulationEnabled", enabled=True)  # keys reach the page as if it were in front
        tab.go(file.as_uri())
        return tab


class Tab:
    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self.session = browser, session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **parameters)

    def go(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def close(self) -> None:
        self.browser.events = [event for event in self.browser.events if event.get("sessionId") != self.session]
        self.call("Page.close")

    def get(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        fields = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in fields, f"{expression}: {fields['exceptionDetails']}"
        return fields["result"].get("value")

    def wait_for(self, expression: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not self.get(f"Boolean({expression})"):
            assert time.monotonic() < end, f"not so after {PATIENCE_S:.0f} s: {expression}"
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of an element that is brought into view."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.get(f"{element}.scrollIntoView({{block: 'center', inline: 'center'}})")
        box = self.get(f"(box => [box.x + box.width / 2, box.y + box.height / 2])({element}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def press(self, key: str) -> None:
        typed = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key], **typed)

    def choose(self, selector: str, value: str) -> None:
        """An entry of a list, as a person who picks it."""
        self.get(
            "((one, value) => { one.value = value; one.dispatchEvent(new Event('change')); })"
            f"(document.querySelector({json.dumps(selector)}), {json.dumps(value)})"
        )

    def screenshot(self, path: Path, full_page: bool = False) -> None:
        fields = self.call("Page.captureScreenshot", captureBeyondViewport=full_page)
        path.write_bytes(base64.b64decode(fields["data"]))

    @property
    def requested(self) -> list[str]:
        """Addresses of all that the page asked for."""
        return [str(event["params"]["request"]["url"]) for event in self._events("Network.requestWillBeSent")]

    @property
    def complaints(self) -> list[object]:
        """What the browser's console shows: messages, exceptions, and what the page's policy refused."""
        names = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self._events(*names)]

    def _events(self, *methods: str) -> Iterator[dict[str, Any]]:
        self.call("Runtime.evaluate", expression="0")  # what came before it is known behind it
        yield from [
            event
            for event in self.browser.events
            if event.get("sessionId") == self.session and event.get("method") in methods
        ]


@contextlib.contextmanager
def started(profile: Path) -> Iterator[Browser]:
    """A browser with a profile of its own; it has ended when this returns."""
    program = shutil.which("chromium")
    assert program, "no chromium: make test-needs installs it"
    to_browser, from_browser = os.pipe(), os.pipe()
    connected = f'exec "$0" "$@" 3</proc/self/fd/{to_browser[0]} 4>/proc/self/fd/{from_browser[1]}'
    process = subprocess.Popen(
        ["sh", "-c", connected, program, *FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(to_browser[0], from_browser[1]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(to_browser[0])
    os.close(from_browser[1])
    try:
        yield Browser(from_browser[0], to_browser[1])
    finally:
        os.close(to_browser[1])
        os.close(from_browser[0])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started(tmp_path_factory.mktemp("profile")) as browser:
        yield browser
