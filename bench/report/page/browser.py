# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium, driven by Selenium. python3 -m report.page.browser bench-results/arena.html FOLDER takes screenshots: light, dark
and on a phone, down to the end of the table. The page prefers the font Inter (Debian: fonts-inter)."""
import argparse
import os
import shutil
import sys
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from ..colors import reduce_colors

SHOTS = {"light": (1280, 1.25, False, False), "dark": (1280, 1.25, True, False), "phone": (390, 2.0, False, True)}  # width, scale, dark, phone


def find_chromium() -> str | None:
    """Returns the path of the browser; None if it or its driver is missing."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return found if shutil.which("chromedriver") else None


class Browser:
    """A browser with one page: `with Browser(program) as browser: browser.open(path); browser.evaluate("document.title")`."""

    def __init__(self, program: str, fonts: Path | None = None) -> None:
        """`fonts` is a fontconfig configuration that replaces the configuration of the machine."""
        options = webdriver.ChromeOptions()
        options.binary_location = program
        for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        environment = {**os.environ, **({"FONTCONFIG_FILE": str(fonts)} if fonts else {})}
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver"), env=environment))
        self.call_devtools = self.driver.execute_cdp_cmd

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_) -> None:
        self.driver.quit()

    def take_messages(self) -> list[str]:
        """Returns the warnings and errors of the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def set_window(self, width: int, height: int, scale: float = 1.0, dark: bool = False, phone: bool = False) -> None:
        self.call_devtools("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone})
        self.call_devtools("Emulation.setEmulatedMedia", {"media": "", "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def open(self, page: Path) -> None:
        self.driver.get(page.resolve().as_uri())
        self.settle()

    def evaluate(self, expression: str):
        """Returns the value of a JavaScript expression. Waits for promises."""
        return self.driver.execute_script(f"return {expression}")

    def settle(self) -> None:
        """Waits until the page is drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def press(self, key: str) -> None:
        """Presses one of selenium's Keys."""
        self.driver.switch_to.active_element.send_keys(key)
        self.settle()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    program = find_chromium()
    if program is None:
        print("no screenshots: there is no chromium with its driver", file=sys.stderr)
        return 1
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with Browser(program) as browser:
        for name, (width, scale, dark, phone) in SHOTS.items():
            browser.set_window(width, 844, scale, dark, phone)
            browser.open(arguments.page)
            end = browser.evaluate("document.querySelector('.links').getBoundingClientRect().bottom")
            browser.set_window(width, round(end) + 24, scale, dark, phone)
            browser.settle()
            path = arguments.folder / f"page_{name}.png"
            browser.driver.save_screenshot(str(path))
            reduce_colors(path)
            print(f"  {path} ({path.stat().st_size // 1000} kB)")
        if messages := browser.take_messages():
            raise RuntimeError("; ".join(messages))
    return 0


if __name__ == "__main__":
    sys.exit(main())
