"""A headless Chromium that a test controls over its DevTools protocol: clicks, keys and touches.

Commands and events are JSON through two pipes (--remote-debugging-pipe), each ended by a zero byte, so that
neither a port nor a library is needed.
"""
import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

import tap

TIMEOUT = 300  # seconds after which no answer is expected any more


class Gone(AssertionError):
    """The page was left for another page."""


class Browser:
    """`with Browser() as browser`, then `open`. The test is skipped if no Chromium can be started."""

    def __enter__(self):
        program = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
        if not program:
            raise tap.Skip("no Chromium is installed")
        self.profile = tempfile.mkdtemp(prefix="rpistat-chromium-")
        to_read, self.to = os.pipe()
        self.answers, from_write = os.pipe()
        self.process = subprocess.Popen(
            ["sh", "-c", "exec \"$@\" 3<&%d 4>&%d" % (to_read, from_write), "sh", program, "--headless=new",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--user-data-dir=" + self.profile, "--remote-debugging-pipe",
             "about:blank"], pass_fds=(to_read, from_write), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(from_write)
        self.number, self.buffer, self.session, self.errors = 0, b"", None, []
        try:
            targets = self.call("Target.getTargets")["targetInfos"]
            target = next(each for each in targets if each["type"] == "page")
            self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        except (OSError, EOFError, StopIteration) as error:
            self.__exit__()
            raise tap.Skip("%s does not start here" % program) from error
        for domain in ["Page", "Runtime", "Log"]:
            self.call(domain + ".enable")
        return self

    def __exit__(self, *unused):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self, deadline):
        """Return the next answer or event."""
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise OSError("Chromium does not answer")
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                raise EOFError("Chromium has ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        found = json.loads(text)
        if found.get("method") == "Runtime.exceptionThrown":
            self.errors.append(found["params"]["exceptionDetails"]["exception"].get("description"))
        if found.get("method") == "Log.entryAdded" and found["params"]["entry"]["level"] == "error":
            self.errors.append(found["params"]["entry"]["text"])
        return found

    def call(self, method, **parameters):
        """Return the result of a command."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.to, json.dumps(command).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT
        while True:
            found = self.message(deadline)
            if found.get("id") == self.number:
                if found.get("error", {}).get("code") == -32000:  # the page was left during the request
                    raise Gone(found["error"]["message"])
                assert "error" not in found, (method, found["error"])
                return found["result"]

    def evaluate(self, expression):
        """Return the value of JavaScript in the page, after waiting for a promise."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, (expression[:200], found["exceptionDetails"])
        return found["result"].get("value")

    def wait(self, expression):
        """Wait until a JavaScript expression is true."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            with contextlib.suppress(Gone):
                if self.evaluate(expression):
                    return
            assert time.monotonic() < deadline, "never: " + expression

    def open(self, path, width, height, mobile=False, touch=False, theme="light", ratio=1):
        """Open a file or an address in a window of this size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio,
                  mobile=mobile)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.call("Page.navigate", url=path if "://" in path else "file://" + os.path.abspath(path))
        self.wait("document.readyState === 'complete' && location.protocol !== 'about:'")

    def frame(self):
        """Wait until changes are drawn, also by a new page if this one reloads itself."""
        self.wait("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def key(self, key, modifiers=0):
        """Press a key: alt 1, control 2, shift 8."""
        code = {"+": 187, "-": 189, "0": 48, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
                "PageUp": 33, "PageDown": 34, "Home": 36, "End": 35, "Escape": 27, "Tab": 9, "Enter": 13}[key]
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, modifiers=modifiers,
                  text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code, modifiers=modifiers)

    def touch(self, kind, *points):
        """touchStart, touchMove, touchEnd with the fingers on the screen."""
        self.call("Input.dispatchTouchEvent", type=kind,
                  touchPoints=[{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(points)])

    def pdf(self):
        """Return the page as printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
