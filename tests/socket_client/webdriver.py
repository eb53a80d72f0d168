"""The few W3C WebDriver calls that the tests need, and the prompt window as a person meets it."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: How long one WebDriver call may take, in seconds: the first one waits for the app to open its first window.
CALL_SECONDS = 120.0

#: How long a person's window may take to show what it must, in seconds.
WINDOW_SECONDS = 120.0

#: Between two looks at the window, in seconds.
LOOK_EVERY = 0.04

#: Two clicks within this many seconds are one double click, whose second half the window ignores on purpose.
DOUBLE_CLICK_SECONDS = 0.6

#: The name under which WebDriver hands out elements.
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"

#: WebDriver's code for the Escape key.
ESCAPE = "\ue00c"


class WebDriverError(Exception):
    """An error that the driver reported; ``code`` is its W3C name."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


def poll(what: str, look: Callable[[], Any], seconds: float = WINDOW_SECONDS) -> Any:
    """Looks until there is something true to see; says what was missing when there never was."""
    deadline = time.monotonic() + seconds
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(LOOK_EVERY)


def call(port: int, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """One exchange with the driver."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=CALL_SECONDS)
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json"})
        value = json.loads(connection.getresponse().read())["value"]
    finally:
        connection.close()
    if isinstance(value, dict) and "error" in value:
        raise WebDriverError(value["error"], value.get("message", ""))
    return value


@dataclass(frozen=True)
class Button:
    """A button of the shown card."""

    name: str
    armed: bool
    usable: bool


@dataclass(frozen=True)
class Card:
    """What the window shows of one request."""

    id: str
    painted: bool
    command: str
    text: str
    outcome: str | None
    buttons: tuple[Button, ...]

    @property
    def offers(self) -> list[str]:
        """Names of the buttons that can be used, in the order of the window."""
        return [button.name for button in self.buttons if button.usable or button.name == "allow-once"]


_TAKE_KEYBOARD = """
    document.querySelector('[data-testid="card"]').dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
"""

_KEYS_COUNT = """return document.querySelector('[data-testid="card"]')?.dataset.keys === 'true'"""

_LOOK = """
const card = document.querySelector('[data-testid="card"]');
if (!card || document.hidden) return null;
const buttons = [...card.querySelectorAll('[data-testid="verdict"] button[data-testid]')].map((button) => ({
  name: button.dataset.testid,
  armed: button.dataset.armed === 'true',
  usable: button.getAttribute('aria-disabled') !== 'true',
}));
return {
  id: card.dataset.id,
  painted: card.dataset.painted === 'true',
  command: card.querySelector('[data-testid="command"]')?.innerText ?? '',
  text: card.innerText,
  outcome: card.querySelector('[data-testid="outcome"]')?.dataset.outcome ?? null,
  buttons,
};
"""


_DESCRIBE = """
const card = document.querySelector('[data-testid="card"]');
return JSON.stringify({ hidden: document.hidden, card: card && { ...card.dataset }, text: document.body.innerText.slice(0, 400) });
"""


class PromptWindow:
    """The prompt window of a running app, seen and used through WebDriver."""

    def __init__(self, port: int, binary: str) -> None:
        """Starts the app hidden. Blocks until it opens a window: something must ask meanwhile."""
        options = {"binary": binary, "args": ["--hidden"]}
        capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        self._port = port
        self._session = call(port, "POST", "/session", {"capabilities": capabilities})["sessionId"]

    def card(self) -> Card | None:
        """The card that is in view now."""
        try:
            seen = self._post("execute/sync", {"script": _LOOK, "args": []})
        except WebDriverError as error:
            if error.code != "no such window":
                raise
            handles = call(self._port, "GET", f"/session/{self._session}/window/handles")
            if handles:
                self._post("window", {"handle": handles[0]})
            return None
        if seen is None:
            return None
        buttons = tuple(Button(**button) for button in seen.pop("buttons"))
        return Card(buttons=buttons, **seen)

    def wait_for(self, text: str, seconds: float = WINDOW_SECONDS) -> Card:
        """The card whose command contains ``text``, once it can be answered."""

        def look() -> Card | None:
            card = self.card()
            answerable = card and card.painted and card.outcome is None and card.buttons
            return card if answerable and text in card.command else None

        try:
            return poll(f"a card in the window with {text!r} in its command", look, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; it shows {self.describe()}") from None

    def describe(self) -> str:
        """What the window shows instead of what was waited for."""
        try:
            return str(self._post("execute/sync", {"script": _DESCRIBE, "args": []}))
        except WebDriverError as error:
            return error.code

    def wait_for_outcome(self, card: Card, seconds: float = WINDOW_SECONDS) -> str:
        """How the card says that it ended."""

        def look() -> str | None:
            seen = self.card()
            return seen.outcome if seen and seen.id == card.id else None

        return poll("an outcome on the card", look, seconds)

    def wait_gone(self, card: Card, seconds: float = WINDOW_SECONDS) -> None:
        """Until the window shows something else, or nothing."""
        poll("the card leaves the window", lambda: self._is_gone(card), seconds)

    def deny(self, card: Card) -> None:
        """Presses Deny."""
        self._press_until_gone(card, "deny")

    def allow_once(self, card: Card) -> None:
        """Waits until Allow once is armed, as a person has to, and presses it."""

        def armed() -> bool:
            seen = self.card()
            if seen is None or seen.id != card.id:
                raise AssertionError("the card left the window before it could be allowed")
            return any(button.name == "allow-once" and button.armed for button in seen.buttons)

        poll("Allow once gets armed", armed)
        self._press_until_gone(card, "allow-once")

    def escape(self) -> None:
        """Puts the keyboard into the prompt, waits until its keys count, then presses and releases Escape."""
        self._post("execute/sync", {"script": _TAKE_KEYBOARD, "args": []})
        poll("keys count", lambda: self._post("execute/sync", {"script": _KEYS_COUNT, "args": []}))
        keys = [{"type": "keyDown", "value": ESCAPE}, {"type": "keyUp", "value": ESCAPE}]
        self._actions({"type": "key", "id": "keyboard", "actions": keys})

    def _is_gone(self, card: Card) -> bool:
        seen = self.card()
        return seen is None or seen.id != card.id or seen.outcome is not None

    def _press_until_gone(self, card: Card, name: str) -> None:
        deadline = time.monotonic() + WINDOW_SECONDS
        while not self._is_gone(card):
            if time.monotonic() >= deadline:
                raise AssertionError(f"pressing {name} did not answer the card")
            self._click(f'[data-testid="card"][data-id="{card.id}"] [data-testid="{name}"]')
            pressed = time.monotonic()
            while not self._is_gone(card) and time.monotonic() - pressed < DOUBLE_CLICK_SECONDS:
                time.sleep(LOOK_EVERY)

    def _click(self, selector: str) -> None:
        try:
            element = self._post("element", {"using": "css selector", "value": selector})
            moves = [
                {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": {ELEMENT: element[ELEMENT]}},
                {"type": "pointerDown", "button": 0},
                {"type": "pointerUp", "button": 0},
            ]
            self._actions({"type": "pointer", "id": "mouse", "actions": moves})
        except WebDriverError as error:
            # The window goes away under the click that answers it.
            if error.code not in ("no such window", "no such element", "stale element reference"):
                raise

    def _actions(self, source: dict[str, Any]) -> None:
        self._post("actions", {"actions": [source]})

    def _post(self, what: str, body: dict[str, Any]) -> Any:
        return call(self._port, "POST", f"/session/{self._session}/{what}", body)
