# SPDX-License-Identifier: Apache-2.0
"""A page in headless Chromium, driven through its own pipe (the DevTools protocol), so that nothing else is needed."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page. `with Browser(program) as b: b.open(path); b.ask("document.title")`"""

    def __init__(self, program: str, fonts: Path | None = None) -> None:
        """`fonts`: a configuration of fontconfig, in place of the machine's."""
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_us, theirs_out = os.pipe()
        theirs_in, to_them = os.pipe()
        self.reads, self.writes, self.buffer, self.last = to_us, to_them, b"", 0
        self.complaints: list[str] = []
        self.loaded = False

        # The pipe is on descriptors 3 and 4. Through higher ones, so that none is closed by being in the way.
        high = [os.dup2(fd, 100 + i) for i, fd in enumerate((theirs_in, theirs_out))]
        shell = 'exec 3<&100 4>&101 100<&- 101>&-; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=high, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, **({"FONTCONFIG_FILE": str(fonts)} if fonts else {})})
        for fd in (theirs_in, theirs_out, *high):
            os.close(fd)
        self.session = ""
        pages = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in pages if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.reads)
        os.close(self.writes)
        self.profile.cleanup()

    def _message(self) -> dict:
        while b"\0" not in self.buffer:
            more = os.read(self.reads, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self.buffer += more
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        method, said = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(said["exceptionDetails"].get("exception", {}).get("description") or said["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([arg.get("value", arg.get("description")) for arg in said["args"]]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(said["entry"]["text"])
        return message

    def call(self, method: str, **parameters) -> dict:
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        os.write(self.writes, json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != self.last:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def window(self, width: int, height: int, scale: float = 1.0, dark: bool = False, phone: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, page: Path) -> None:
        self.loaded = False
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not self.loaded:
            self._message()
        self.settle()

    def ask(self, expression: str):
        """The value of a JavaScript expression; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def settle(self) -> None:
        """Until what was changed is drawn."""
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def key(self, name: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code,
                      **({"text": "\r"} if name == "Enter" and kind == "keyDown" else {}))
        self.settle()

    def screenshot(self, path: Path, whole: bool = False) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
