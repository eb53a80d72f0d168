"""The app under test, with everything around it private: display, session bus, home, and both state directories."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from client import Client, line_of
from webdriver import PromptWindow, WebDriverError, poll

#: Binaries of a development build; two variables name others.
BUILD = Path(__file__).resolve().parents[2] / "target" / "debug"

#: How long the app may take to serve its socket, in seconds: a debug build on a busy machine.
START_SECONDS = 120.0

#: How long the app may take to end, in seconds: it gives its parts three, and a busy machine some more.
STOP_SECONDS = 120.0

#: How long the command line may take, in seconds.
COMMAND_SECONDS = 120.0

#: A bus without service folders: a call starts nothing of the machine.
BUS_CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


def binary(variable: str, name: str) -> str:
    """The binary that the variable names, else the one of the development build."""
    path = Path(os.environ.get(variable) or BUILD / name)
    if not os.access(path, os.X_OK):
        raise SystemExit(f"{path} is missing: build countersign and countersign-desktop, or set {variable}")
    return os.fspath(path.resolve())


def end(process: subprocess.Popen[Any]) -> None:
    """Ends one child that this program started."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Session:
    """Display and bus. The display is the caller's when it has one."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="cs-sock-"))
        self._children: list[subprocess.Popen[Any]] = []
        runtime = self.root / "runtime"
        runtime.mkdir(mode=0o700)
        keep = ("PATH", "LANG", "XAUTHORITY")
        self.environment = {name: os.environ[name] for name in keep if name in os.environ}
        self.environment["XDG_RUNTIME_DIR"] = os.fspath(runtime)
        self.environment["GDK_BACKEND"] = "x11"
        self.environment["DISPLAY"] = os.environ.get("DISPLAY") or self._display()
        config = self.root / "bus.conf"
        config.write_text(BUS_CONFIG)
        bus = ["dbus-daemon", f"--config-file={config}", "--nofork", "--print-address=1"]
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = self._first_line(bus)

    def _display(self) -> str:
        screen = ["-screen", "0", "1280x800x24", "-nolisten", "tcp"]
        return ":" + self._first_line(["Xvfb", "-displayfd", "1", *screen])

    def _first_line(self, command: list[str]) -> str:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._children.append(child)
        line = child.stdout.readline().strip() if child.stdout else ""
        if not line:
            raise SystemExit(f"{command[0]} did not start")
        return line

    def close(self) -> None:
        """Ends both and removes every file."""
        for child in reversed(self._children):
            end(child)
        shutil.rmtree(self.root, ignore_errors=True)


def document(
    security: str,
    ask: str,
    fallback: str = "deny",
    rules: list[dict[str, Any]] | None = None,
    **defaults: Any,
) -> dict[str, Any]:
    """An approvals document with these defaults, and these rules for the agent ``main``."""
    values = {"security": security, "ask": ask, "askFallback": fallback, **defaults}
    made: dict[str, Any] = {"version": 1, "defaults": values, "agents": {}}
    if rules:
        made["agents"]["main"] = {"allowlist": rules}
    return made


class App:
    """One app with its own directories. It is started by :meth:`start` or :meth:`start_with_window`."""

    def __init__(self, session: Session, name: str, openclaw: Path | None = None) -> None:
        self.root = session.root / name
        self.root.mkdir(mode=0o700)
        self.openclaw = openclaw or self.root / "openclaw"
        if openclaw is None:
            self.openclaw.mkdir(mode=0o700)
        self.home = self.root / "home"
        self.home.mkdir(mode=0o700)
        self.state = self.root / "state"
        self.environment = {
            **session.environment,
            "HOME": os.fspath(self.home),
            "OPENCLAW_STATE_DIR": os.fspath(self.openclaw),
            "COUNTERSIGN_STATE_DIR": os.fspath(self.state),
            "COUNTERSIGN_GATEWAY_PORT": "0",
        }
        self.document_path = self.openclaw / "exec-approvals.json"
        self.client = Client(self.openclaw / "exec-approvals.sock", secrets.token_urlsafe(24))
        self.window: PromptWindow | None = None
        self._log = self.root / "app.log"
        self._child: subprocess.Popen[Any] | None = None
        self._driver: subprocess.Popen[Any] | None = None

    # Documents

    def text_of(self, document: dict[str, Any]) -> str:
        """The document's text, with this app's socket and token unless it names its own."""
        endpoint = {"path": os.fspath(self.client.path), "token": self.client.token}
        return json.dumps({"socket": endpoint, **document}, indent=2, ensure_ascii=False) + "\n"

    def write_document(self, document: dict[str, Any]) -> bytes:
        """Replaces the document as a careful program does. Returns its bytes."""
        text = self.text_of(document).encode()
        fresh = self.document_path.with_suffix(f".{secrets.token_hex(4)}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(text)
        fresh.rename(self.document_path)
        return text

    def read_document(self) -> dict[str, Any]:
        """The document as it is on disk."""
        return json.loads(self.document_path.read_bytes())

    # Life

    def start(self) -> App:
        """Starts it in the tray, without a driver. Returns at once."""
        with open(self._log, "ab") as log:
            self._child = subprocess.Popen(
                [binary("COUNTERSIGN_DESKTOP_BIN", "countersign-desktop"), "--hidden"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self

    def start_with_window(self) -> App:
        """Starts it under a WebDriver, which takes its first window: something is asked and denied to make one."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with open(self._log, "ab") as log:
            self._driver = subprocess.Popen(
                ["WebKitWebDriver", f"--port={port}", "--host=127.0.0.1"],
                env={**self.environment, "TAURI_WEBVIEW_AUTOMATION": "true"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        poll("the driver listens", lambda: _connects(port), START_SECONDS)
        opened: list[PromptWindow | BaseException] = []

        def open_session() -> None:
            try:
                opened.append(PromptWindow(port, binary("COUNTERSIGN_DESKTOP_BIN", "countersign-desktop")))
            except (WebDriverError, OSError) as error:
                opened.append(error)

        opener = threading.Thread(target=open_session)
        opener.start()
        self.wait_listening()
        first = self.client.ask("first-window", approvalTimeoutMs=int(START_SECONDS * 1000))
        opener.join(START_SECONDS)
        if not opened or isinstance(opened[0], BaseException):
            raise AssertionError(f"no WebDriver session: {opened}\n{self.log()}")
        self.window = opened[0]
        self.window.deny(self.window.wait_for("first-window"))
        assert first.answer() == {"type": "decision", "id": first.frame["id"], "decision": "deny"}
        return self

    def pid(self) -> int:
        """Process id of the app; fails when it is not running."""
        finding = self.doctor()["app"]
        if finding["level"] != "ok":
            raise AssertionError(f"the app is not running: {finding}\n{self.log()}")
        return int(finding["message"].rsplit(" ", 1)[1])

    def quit(self) -> None:
        """Asks the app to end in order, and waits until it has."""
        if self._child is None:
            raise AssertionError("only an app without a driver is ended in order")
        self._child.send_signal(signal.SIGTERM)
        self._child.wait(STOP_SECONDS)

    def is_running(self) -> bool:
        """Whether its process is there."""
        return self._child is not None and self._child.poll() is None

    def close(self) -> None:
        """Ends the app, and its driver if it has one."""
        if self._driver is not None:
            try:
                os.kill(self.pid(), signal.SIGTERM)
                poll("the app ends", lambda: self.doctor()["app"]["level"] != "ok", STOP_SECONDS)
            except (AssertionError, ProcessLookupError):
                pass  # It ended before; the driver goes in any case.
            end(self._driver)
        if self._child is not None:
            end(self._child)

    # What it says

    def log(self) -> str:
        """What the app wrote so far."""
        return self._log.read_text(errors="replace")

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the command line with this app's directories."""
        return subprocess.run(
            [binary("COUNTERSIGN_BIN", "countersign"), *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            cwd=self.home,
            check=False,
        )

    def doctor(self) -> dict[str, dict[str, str]]:
        """Findings of ``countersign doctor``, by what was looked at."""
        findings = json.loads(self.cli("--json", "doctor").stdout)
        return {finding["check"]: finding for finding in findings}

    def control(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request over the channel between the command line and the app."""
        answer = Client(self.state / "control.sock", "").connect().send(line_of(request)).answer()
        if answer is None:
            raise AssertionError("the app closed its control channel without an answer")
        return answer

    def document_hash(self) -> str:
        """What an edit has to name as the document it was made from."""
        return hashlib.sha256(self.document_path.read_bytes()).hexdigest()

    def pending(self) -> list[dict[str, Any]]:
        """Cards that wait."""
        return json.loads(self.cli("--json", "pending").stdout)["cards"]

    def is_listening(self) -> bool:
        """Whether the approval socket takes connections."""
        try:
            self.client.connect().close()
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError, PermissionError):
            return False
        return True

    def wait_listening(self, seconds: float = START_SECONDS) -> None:
        """Until the approval socket takes connections."""
        try:
            poll("the approval socket takes connections", self.is_listening, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()}") from error

    def wait_not_listening(self, why: str) -> dict[str, str]:
        """Until the app says that it does not listen and gives a reason that contains ``why``."""

        def look() -> dict[str, str] | None:
            finding = self.doctor()["approval socket"]
            return finding if finding["level"] == "problem" and why in finding["message"] else None

        try:
            return poll(f"the doctor says why there is no socket: {why!r}", look, START_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}; it says {self.doctor()['approval socket']}\n{self.log()}") from error


def _connects(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def mode_of(path: Path) -> int:
    """Permission bits, links not followed."""
    return stat.S_IMODE(path.lstat().st_mode)


def identity_of(path: Path) -> tuple[int, int, int]:
    """What tells one file from another, and from what it was before."""
    status = path.lstat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def is_alive(pid: int) -> bool:
    """Whether a process runs (one that only waits to be reaped does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextmanager
def running(app: App) -> Iterator[App]:
    """The app, started without a driver and ended afterwards."""
    try:
        yield app.start()
    finally:
        app.close()
