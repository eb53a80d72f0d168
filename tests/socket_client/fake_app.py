"""A stand-in for the app: a socket that answers every request with prepared lines. For tests of requesters."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: How long a requester may take to send its line, in seconds.
LINE_SECONDS = 120.0


class FakeApp:
    """Answers one connection after the other until it is closed. ``requests`` holds what came."""

    def __init__(self, path: Path, answers: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answers = answers
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(os.fspath(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> FakeApp:
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone would not wake a thread that waits in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            with stream:
                stream.settimeout(LINE_SECONDS)
                with stream.makefile("rwb") as file:
                    request = json.loads(file.readline())
                    self.requests.append(request)
                    for answer in self._answers(request):
                        file.write(json.dumps(answer).encode() + b"\n")
