"""The requester's end of the approval socket: frames, signatures and raw bytes.

Written from the protocol description alone, so that it shares no mistake with the app it is used against. One request a
connection: one JSON object on one line, one JSON object back, and then the other end closes.
"""

from __future__ import annotations

import hashlib
import hmac as hmac_module
import json
import os
import secrets
import socket
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: How long any single answer is waited for, in seconds. Like every limit here it says that a test fails,
#: and never how fast the machine is: where all is well, nothing takes nearly as long.
ANSWER_SECONDS = 120.0

#: Longest answer line, in bytes, that a requester reads.
MAX_ANSWER_BYTES = 16 * 1024 * 1024


def sign(token: str, nonce: str, ts: int, request_json: str) -> str:
    """Lower-case hex of HMAC-SHA256 under the token over ``nonce:ts:request_json``."""
    message = f"{nonce}:{ts}:{request_json}".encode()
    return hmac_module.new(token.encode(), message, hashlib.sha256).hexdigest()


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def exec_frame(token: str, request_json: str, ts: int | None = None, **changes: Any) -> dict[str, Any]:
    """A signed ``exec`` frame; ``changes`` replace members after signing."""
    nonce = secrets.token_hex(16)
    ts = now_ms() if ts is None else ts
    frame = {
        "type": "exec",
        "id": str(uuid.uuid4()),
        "nonce": nonce,
        "ts": ts,
        "hmac": sign(token, nonce, ts, request_json),
        "requestJson": request_json,
    }
    frame.update(changes)
    return frame


def ask_frame(token: str, request: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A ``request`` frame; ``changes`` replace members of the envelope."""
    frame = {"type": "request", "token": token, "id": str(uuid.uuid4()), "request": request}
    frame.update(changes)
    return frame


def line_of(frame: Any) -> bytes:
    """A frame as it travels."""
    return json.dumps(frame, ensure_ascii=False).encode() + b"\n"


@dataclass
class Exchange:
    """One connection."""

    stream: socket.socket
    frame: dict[str, Any] = field(default_factory=dict)
    buffer: bytes = b""

    def send(self, data: bytes) -> Exchange:
        """Sends bytes; a server that has closed already is no error here, its answer (or silence) is what counts."""
        try:
            self.stream.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return self

    def half_close(self) -> Exchange:
        """Says that nothing more will be sent."""
        try:
            self.stream.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return self

    def read_to_end(self, seconds: float = ANSWER_SECONDS) -> bytes:
        """Everything up to the close; a server that stays open too long is an error."""
        deadline = time.monotonic() + seconds
        while True:
            self.stream.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                chunk = self.stream.recv(65_536)
            except ConnectionResetError:
                chunk = b""
            except TimeoutError as error:
                raise AssertionError(f"the connection was still open after {seconds} s") from error
            if not chunk:
                data, self.buffer = self.buffer, b""
                self.close()
                return data
            self.buffer += chunk
            if len(self.buffer) > MAX_ANSWER_BYTES:
                raise AssertionError(f"an answer of more than {MAX_ANSWER_BYTES} bytes")

    def answer(self, seconds: float = ANSWER_SECONDS) -> dict[str, Any] | None:
        """The one answer line; ``None`` when the server closed without one. Anything more than one line is an error."""
        data = self.read_to_end(seconds)
        if not data:
            return None
        if not data.endswith(b"\n") or data.count(b"\n") != 1:
            raise AssertionError(f"expected exactly one line, got {data[:200]!r}")
        return json.loads(data)

    def is_open(self) -> bool:
        """Whether the server has neither answered nor closed yet."""
        self.stream.setblocking(False)
        try:
            chunk = self.stream.recv(65_536)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        self.buffer += chunk
        return False

    def close(self) -> None:
        """Closes both directions."""
        self.stream.close()


@dataclass
class Client:
    """Where to connect, and the token."""

    path: Path
    token: str

    def connect(self) -> Exchange:
        """A fresh connection; nothing is sent."""
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.settimeout(ANSWER_SECONDS)
        try:
            stream.connect(os.fspath(self.path))
        except OSError:
            stream.close()
            raise
        return Exchange(stream)

    def send(self, frame: dict[str, Any]) -> Exchange:
        """Sends one frame and half-closes, as newer requesters do."""
        exchange = self.connect().send(line_of(frame)).half_close()
        exchange.frame = frame
        return exchange

    def exec(self, command: list[str], **members: Any) -> Exchange:
        """Has a command run; ``members`` go into the signed inner request."""
        request = {"command": command, **members}
        return self.send(exec_frame(self.token, json.dumps(request, ensure_ascii=False)))

    def exec_json(self, request_json: str) -> Exchange:
        """The same with the inner request as text."""
        return self.send(exec_frame(self.token, request_json))

    def ask(self, command: str, **members: Any) -> Exchange:
        """Asks for a decision; ``members`` go into the request."""
        return self.send(ask_frame(self.token, {"command": command, **members}))


def policy_snapshot(document: dict[str, Any], agent: str = "main") -> dict[str, Any]:
    """What a forwarded grant was given under: the effective values of the agent, and its rules, unique and sorted by
    the UTF-8 bytes of (pattern, argPattern, source), absent before present."""
    scopes = document.get("agents", {})
    layers = [scopes.get(agent, {}), scopes.get("*", {}), document.get("defaults", {})]

    def value(name: str, built_in: Any) -> Any:
        return next((layer[name] for layer in layers if name in layer), built_in)

    rules = set()
    for scope in ("*", agent):
        for entry in scopes.get(scope, {}).get("allowlist", []):
            source = entry.get("source")
            rules.add((entry["pattern"].strip(), entry.get("argPattern"), source if source == "allow-always" else None))

    def order(rule: tuple[str | None, ...]) -> list[tuple[bool, bytes]]:
        return [(part is not None, (part or "").encode()) for part in rule]

    names = ("pattern", "argPattern", "source")
    return {
        "security": value("security", "deny"),
        "ask": value("ask", "on-miss"),
        "askFallback": value("askFallback", "deny"),
        "autoAllowSkills": value("autoAllowSkills", False),
        "allowlistRules": [
            {name: part for name, part in zip(names, rule, strict=True) if part is not None}
            for rule in sorted(rules, key=order)
        ],
    }
