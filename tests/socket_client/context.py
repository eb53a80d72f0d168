"""What every test works with: the running app, fresh names, and the assertions that they share."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app import App, Session, document
from client import Exchange
from webdriver import Card, poll

#: A program that leaves a trace when it runs, and only then.
TOUCH = "/usr/bin/touch"

#: How long a person may take in these tests, in milliseconds: far longer than a window needs to open, and
#: than a row needs to ask everything that has to wait together.
PATIENCE_MS = 120_000

ONCE_OR_DENY = ["deny", "allow-once"]
ONCE_ALWAYS_OR_DENY = ["deny", "allow-once", "allow-more"]

#: What a test returns when the app differs from the peers on purpose: said in the report,
#: asserted in the test.
Deviation = str | None

#: A test: the docstring says what is expected.
Row = Callable[["Context"], Deviation]


class Skipped(Exception):
    """This machine cannot run the test; the message says why."""


class Context:
    """The running app and fresh names."""

    def __init__(self) -> None:
        self.session = Session()
        self._numbers = itertools.count(1)
        self._main: App | None = None
        self._others: list[App] = []

    @property
    def app(self) -> App:
        """The app that most tests share, with a window to look at."""
        if self._main is None:
            app = App(self.session, "main")
            self._main = app
            app.write_document(document("deny", "off"))
            app.start_with_window()
        return self._main

    def other_app(self, openclaw: Path | None = None) -> App:
        """An app of this test's own, not started."""
        app = App(self.session, f"app{next(self._numbers)}", openclaw)
        self._others.append(app)
        return app

    def fresh(self, prefix: str) -> str:
        """A word that no other test uses and that is no part of another such word."""
        return f"{prefix}n{next(self._numbers)}x"

    def trace(self, prefix: str) -> Path:
        """A file that does not exist yet, for a command that must or must not run."""
        return self.session.root / self.fresh(prefix)

    def tidy(self) -> None:
        """Ends what a test left behind, so that the next one starts with an empty window."""
        for app in self._others:
            app.close()
        self._others.clear()
        if self._main is not None and self._main.pending():
            self._main.cli("deny", "--all")
            poll("nothing waits any more", lambda: not self.app.pending())

    def close(self) -> None:
        """Ends everything."""
        for app in [*self._others, *([self._main] if self._main else [])]:
            app.close()
        self.session.close()

    # What tests share

    def policy(self, security: str, ask: str, fallback: str = "deny", **more: Any) -> dict[str, Any]:
        """Puts a document in force in the shared app, and returns it."""
        made = document(security, ask, fallback, **more)
        self.app.write_document(made)
        return made

    def touch(self, trace: Path, **members: Any) -> Exchange:
        """Asks the shared app to create the file."""
        return self.app.client.exec([TOUCH, str(trace)], approvalTimeoutMs=PATIENCE_MS, **members)

    def expect_card(self, text: str, buttons: list[str]) -> Card:
        """The window shows the request and offers exactly these buttons."""
        assert self.app.window is not None
        card = self.app.window.wait_for(text)
        same(card.offers, buttons, "buttons in the window")
        return card

    def deny(self, card: Card) -> None:
        """A person presses Deny."""
        assert self.app.window is not None
        self.app.window.deny(card)

    def allow_once(self, card: Card) -> None:
        """A person waits and presses Allow once."""
        assert self.app.window is not None
        self.app.window.allow_once(card)

    def expect_prompt_then_deny(self, exchange: Exchange, trace: Path, buttons: list[str]) -> None:
        """The window shows the request and offers exactly these buttons; after Deny nothing has run."""
        self.deny(self.expect_card(trace.name, buttons))
        refused(exchange.answer(), exchange, "SYSTEM_RUN_DENIED: user denied", "user-denied")
        did_not_run(trace)

    def expect_alive(self, app: App | None = None) -> None:
        """A fresh valid request is answered. Whatever the policy, an argument list without a program is refused as
        such, so that this works under every document. A document that was written just now may not have been seen
        yet."""
        app = app or self.app

        def answers() -> bool:
            exchange = app.client.exec([])
            answer = exchange.answer()
            if reason(answer) in ("rate-limited", "hmac"):
                return False
            refused(answer, exchange, "command required", "invalid", "INVALID_REQUEST")
            return True

        app.wait_listening()
        poll("a fresh request is answered", answers)

    def let_rest(self) -> None:
        """After a flood: until the shared app takes requests again as from anybody. Each look asks for less than the
        app gains meanwhile, so a row of good ones means that there is room for more."""
        in_a_row = 0

        def takes() -> bool:
            nonlocal in_a_row
            in_a_row = 0 if reason(self.app.client.exec([]).answer()) == "rate-limited" else in_a_row + 1
            return in_a_row == 20

        poll("the app takes requests again", takes)


def same(got: Any, expected: Any, what: str) -> None:
    """Equality that says what differs."""
    if got != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {got!r}")


def reason(answer: dict[str, Any] | None) -> str | None:
    """Why nothing ran, for programs."""
    return ((answer or {}).get("error") or {}).get("reason")


def refused(
    answer: dict[str, Any] | None,
    exchange: Exchange,
    message: str,
    why: str,
    code: str = "UNAVAILABLE",
) -> None:
    """The whole answer is this refusal, under the request's id."""
    error = {"code": code, "message": message, "reason": why}
    same(answer, {"type": "exec-res", "id": exchange.frame["id"], "ok": False, "error": error}, "answer")


def ran(answer: dict[str, Any] | None, exchange: Exchange) -> dict[str, Any]:
    """The command was started; its payload."""
    shown = json.dumps(answer)[:400]
    if not answer or answer.get("ok") is not True or "payload" not in answer or "error" in answer:
        raise AssertionError(f"expected that it ran, got {shown}")
    same((answer["type"], answer["id"]), ("exec-res", exchange.frame["id"]), "envelope")
    return answer["payload"]


def succeeded(answer: dict[str, Any] | None, exchange: Exchange, stdout: str = "") -> None:
    """The command ran to a good end with this output."""
    payload = {"exitCode": 0, "timedOut": False, "success": True, "stdout": stdout, "stderr": "", "error": None}
    same(ran(answer, exchange), payload, "payload")


def decided(answer: dict[str, Any] | None, exchange: Exchange, decision: str) -> None:
    """The whole answer is this decision, under the request's id."""
    same(answer, {"type": "decision", "id": exchange.frame["id"], "decision": decision}, "answer")


def silent(answer: dict[str, Any] | None) -> None:
    """The connection was closed without a line."""
    same(answer, None, "answer")


def did_not_run(trace: Path) -> None:
    """The command left no trace."""
    if trace.exists():
        raise AssertionError(f"the command ran: {trace} exists")


def did_run(trace: Path) -> None:
    """The command left its trace."""
    if not trace.exists():
        raise AssertionError(f"the command did not run: {trace} does not exist")
