"""Bad input over the socket: lines that are no frames, frames with members of every wrong kind, arguments that mislead.

Nothing of it may run, and the app must answer the next good request.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from client import Exchange, ask_frame, exec_frame, line_of, now_ms, policy_snapshot, sign
from context import (
    ONCE_OR_DENY,
    PATIENCE_MS,
    TOUCH,
    Context,
    Deviation,
    decided,
    did_not_run,
    ran,
    reason,
    refused,
    same,
    silent,
)
from webdriver import poll

#: One JSON text of every kind, by name. The large ones fit no number of any machine.
VALUES = {
    "null": "null",
    "true": "true",
    "false": "false",
    "number": "7",
    "negative": "-7",
    "fraction": "1.5",
    "large": "1e400",
    "long": "1" * 400,
    "string": '"x"',
    "blank": '""',
    "array": "[]",
    "object": "{}",
    "nested": '[{"x":[null]}]',
}

TEXT = {"string", "blank"}
OPTIONAL_TEXT = TEXT | {"null"}
OPTIONAL_BOOL = {"null", "true", "false"}
OPTIONAL_SPAN = {"null", "number"}
NONE: set[str] = set()

#: Kinds that each member of a `request` takes; `allowedDecisions` takes all that is JSON at all.
ASK_MEMBERS = {
    "command": TEXT,
    "cwd": OPTIONAL_TEXT,
    "host": OPTIONAL_TEXT,
    "security": OPTIONAL_TEXT,
    "ask": OPTIONAL_TEXT,
    "agentId": OPTIONAL_TEXT,
    "resolvedPath": OPTIONAL_TEXT,
    "sessionKey": OPTIONAL_TEXT,
    "allowedDecisions": set(VALUES) - {"large", "long"},
    "approvalTimeoutMs": OPTIONAL_SPAN,
}

#: The same for the signed request of an `exec`.
EXEC_MEMBERS = {
    "command": {"array"},
    "rawCommand": OPTIONAL_TEXT,
    "cwd": OPTIONAL_TEXT,
    "env": {"null", "object"},
    "timeoutMs": OPTIONAL_SPAN | {"negative"},
    "needsScreenRecording": OPTIONAL_BOOL,
    "agentId": OPTIONAL_TEXT,
    "sessionKey": OPTIONAL_TEXT,
    "approvalDecision": {"null"},
    "approvalSource": OPTIONAL_TEXT,
    "policySnapshot": {"null"},
    "approvalTimeoutMs": OPTIONAL_SPAN,
}

SNAPSHOT_MEMBERS = {
    "security": NONE,
    "ask": NONE,
    "askFallback": NONE,
    "autoAllowSkills": {"true", "false"},
    "allowlistRules": {"array"},
}

RULE_MEMBERS = {"pattern": TEXT, "argPattern": OPTIONAL_TEXT, "source": OPTIONAL_TEXT}


def with_value(base: dict[str, Any], member: str, value: str) -> str:
    """The object as JSON, with one member's value replaced by this JSON text."""
    members = {name: json.dumps(content) for name, content in base.items()} | {member: value}
    return "{" + ",".join(f"{json.dumps(name)}:{content}" for name, content in members.items()) + "}"


def send_text(context: Context, text: str | bytes) -> Exchange:
    """Sends this as a line."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return context.app.client.connect().send(data + b"\n").half_close()


def unhurried(send: Callable[[], Exchange]) -> tuple[dict[str, Any] | None, Exchange]:
    """The answer to what ``send`` sends, sent again while the app says that this is too much at once."""

    def look() -> tuple[dict[str, Any] | None, Exchange] | None:
        exchange = send()
        answer = exchange.answer()
        return None if reason(answer) == "rate-limited" else (answer, exchange)

    return poll("an answer other than too many requests", look)


def b01_wrong_proofs(context: Context) -> Deviation:
    """Wrong token, wrong time, wrong, upper-case, short and long signatures, a signature for other content, a replay:
    refused each, though the policy would let everything run."""
    context.policy("full", "off")
    client = context.app.client
    trace = context.trace("b01")
    inner = json.dumps({"command": [TOUCH, str(trace)]})
    other = json.dumps({"command": ["/usr/bin/true"]})
    good = exec_frame(client.token, other)
    stale, early = now_ms() - 60_000, now_ms() + 60_000
    auth, ttl, replay = ("invalid auth", "hmac"), ("expired request", "ttl"), ("replayed request", "replay")
    bad = [
        (exec_frame(client.token + "x", inner), auth),
        (exec_frame("", inner), auth),
        (exec_frame(client.token, inner, stale), ttl),
        (exec_frame(client.token, inner, early), ttl),
        ({**good, "requestJson": inner}, auth),
        ({**good, "requestJson": other + " "}, auth),
        ({**good, "nonce": good["nonce"] + "0"}, auth),
        ({**good, "ts": good["ts"] + 1}, auth),
        ({**good, "hmac": good["hmac"].upper()}, auth),
        ({**good, "hmac": good["hmac"][:-1]}, auth),
        ({**good, "hmac": good["hmac"] + "0"}, auth),
        ({**good, "hmac": ""}, auth),
        ({**good, "hmac": f" {good['hmac']}"}, auth),
        ({**good, "id": "first"}, None),
        ({**good, "id": "again"}, replay),
    ]
    for frame, expected in bad:
        exchange = client.send(frame)
        answer = exchange.answer()
        if expected is None:
            same(ran(answer, exchange)["exitCode"], 0, "exit code of the one good frame")
        else:
            refused(answer, exchange, *expected, "INVALID_REQUEST")
    did_not_run(trace)
    context.expect_alive()
    return None


def b02_lines_that_are_no_frames(context: Context) -> Deviation:
    """Nothing, blanks, other JSON, two objects, duplicate members, half a frame, bad UTF-8, lone surrogates, UTF-16,
    NUL, deep nesting, noise: closed without a line."""
    context.policy("full", "off")
    client = context.app.client
    trace = context.trace("b02")
    inner = json.dumps({"command": [TOUCH, str(trace)]})
    good = json.dumps(exec_frame(client.token, inner))
    noise = random.Random(2026)
    lines: list[str | bytes] = [
        "",
        " \t\r",
        "null",
        "[]",
        "7",
        '"x"',
        "{}",
        f"[{good}]",
        good + good,
        good + "x",
        good[:-1],
        good[1:],
        good.replace('"type": "exec"', '"type": "exec", "type": "request"'),
        good.replace('"requestJson"', '"requestJson": "{}", "requestJson"'),
        good.replace('"exec"', '"Exec"'),
        good.replace('"exec"', '"exec "'),
        good.encode("utf-16"),
        b"\xef\xbb\xbf" + good.encode(),
        b"\x00" + good.encode(),
        good.encode().replace(b'"id": "', b'"id": "\xff'),
        good.replace('"id": "', '"id": "\\ud800'),
        good.replace('"id": "', '"id": "\ud800'),
        '{"type":' * 30_000,
        "[" * 200_000,
        '{"x":' + "[" * 100_000 + "]" * 100_000 + ',"type":"ping"}',
    ]
    lines += [noise.randbytes(length).replace(b"\n", b"") for length in (1, 64, 4_096, 4_097, 100_000)]
    for line in lines:
        silent(send_text(context, line).answer())
    for data in (b"", noise.randbytes(300_000).replace(b"\n", b""), good.encode()[:100]):
        silent(client.connect().send(data).half_close().answer())
    did_not_run(trace)
    context.expect_alive()
    return None


def b03_lines_of_every_length(context: Context) -> Deviation:
    """A frame whose line ends just before the limit of 256 000 bytes is read; a longer one is not answered, with or
    without its newline, and neither stops the app."""
    client = context.app.client
    for length, is_read in ((255_999, True), (256_001, False), (600_000, False), (3_000_000, False)):

        def send(length: int = length) -> Exchange:
            frame = exec_frame(client.token, '{"command":[]}')
            exchange = client.connect()
            exchange.frame = frame
            padding = length - len(line_of(frame)) + 1
            return exchange.send(line_of(frame)[:-2] + b" " * padding + b"}\n")

        answer, exchange = unhurried(send)
        if is_read:
            refused(answer, exchange, "command required", "invalid", "INVALID_REQUEST")
        else:
            silent(answer)
    silent(client.connect().send(b"x" * 256_000).answer())
    context.expect_alive()
    return None


def b04_wrong_kinds_in_a_request(context: Context) -> Deviation:
    """Every member of a `request` with a value of every kind: what does not fit is closed without a line and asks
    nobody; what fits waits for a person."""
    app = context.app
    subject = {"command": "id", "approvalTimeoutMs": PATIENCE_MS}
    envelope = ask_frame(app.client.token, subject)
    waiting: list[Exchange] = []
    for kind, value in VALUES.items():
        for member in ("type", "token", "id", "request"):
            exchange = send_text(context, with_value(envelope, member, value))
            exchange.frame = {"id": json.loads(value) if member == "id" and kind in TEXT else envelope["id"]}
            if member == "id" and kind in TEXT:
                waiting.append(exchange)
            elif member == "token" and kind in TEXT:
                decided(exchange.answer(), exchange, "deny")
            else:
                silent(exchange.answer())
        for member, fitting in ASK_MEMBERS.items():
            exchange = send_text(context, with_value(envelope, "request", with_value(subject, member, value)))
            exchange.frame = envelope
            if kind not in fitting:
                silent(exchange.answer())
            elif (member, kind) == ("approvalTimeoutMs", "number"):
                exchange.close()
            else:
                waiting.append(exchange)
    poll("all that fits waits for a person", lambda: len(app.pending()) == len(waiting))
    same(app.cli("deny", "--all").returncode, 0, "exit code of deny --all")
    for exchange in waiting:
        decided(exchange.answer(), exchange, "deny")
    for member in envelope:
        silent(send_text(context, json.dumps({k: v for k, v in envelope.items() if k != member})).answer())
    context.expect_alive()
    return None


def b05_wrong_kinds_in_an_exec(context: Context) -> Deviation:
    """Every member of an `exec` with a value of every kind, signed where it can be: what does not fit is closed
    without a line."""
    context.policy("allowlist", "off")
    client = context.app.client
    trace = context.trace("b05")
    inner = json.dumps({"command": [TOUCH, str(trace)]})
    fitting = {"type": NONE, "id": TEXT, "nonce": TEXT, "ts": {"number", "negative"}, "hmac": TEXT, "requestJson": TEXT}
    for kind, value in VALUES.items():
        for member, fits in fitting.items():

            def send(member: str = member, value: str = value, fits: bool = kind in fits) -> Exchange:
                frame = exec_frame(client.token, inner)
                if fits and member in ("nonce", "ts", "requestJson"):
                    frame[member] = json.loads(value)
                    frame["hmac"] = sign(client.token, frame["nonce"], frame["ts"], frame["requestJson"])
                exchange = send_text(context, with_value(frame, member, value))
                exchange.frame = {"id": json.loads(value) if fits and member == "id" else frame["id"]}
                return exchange

            answer, exchange = unhurried(send)
            if kind not in fits:
                silent(answer)
                continue
            expected = {"ts": "ttl", "hmac": "hmac", "requestJson": "json"}.get(member, "allowlist-miss")
            same((reason(answer), answer and answer["id"]), (expected, exchange.frame["id"]), f"{member} {kind}")
    frame = exec_frame(client.token, inner)
    for member in frame:
        silent(send_text(context, json.dumps({k: v for k, v in frame.items() if k != member})).answer())
    did_not_run(trace)
    context.expect_alive()
    return None


def b06_wrong_kinds_in_the_signed_request(context: Context) -> Deviation:
    """Every member of the signed request with a value of every kind, arguments, environment and snapshot included: what
    does not fit is an invalid payload; what fits is judged, and nothing runs."""
    policy = context.policy("allowlist", "off")
    trace = context.trace("b06")
    subject: dict[str, Any] = {"command": [TOUCH, str(trace)]}
    snapshot = policy_snapshot(policy)
    rule = {"pattern": TOUCH}

    def expect(text: str, fits: bool, what: str) -> None:
        answer, exchange = unhurried(lambda: context.app.client.exec_json(text))
        if not fits:
            refused(answer, exchange, "invalid payload", "json", "INVALID_REQUEST")
        elif not answer or answer["ok"] or reason(answer) == "json":
            raise AssertionError(f"{what}: expected a refusal that is not about its kind, got {answer}")

    for kind, value in VALUES.items():
        for member, fitting in EXEC_MEMBERS.items():
            expect(with_value(subject, member, value), kind in fitting, f"{member} {kind}")
        for words in (f'[{value},"x"]', f'["{TOUCH}",{value}]'):
            expect(with_value(subject, "command", words), kind in TEXT, f"argument {kind}")
        expect(with_value(subject, "env", f'{{"A":{value}}}'), kind in TEXT, f"environment {kind}")
        # With a forwarded deny, so that a snapshot that fits grants nothing.
        denied = {**subject, "approvalDecision": "deny"}
        for member, fitting in SNAPSHOT_MEMBERS.items():
            text = with_value(denied, "policySnapshot", with_value(snapshot, member, value))
            expect(text, kind in fitting, f"policySnapshot.{member} {kind}")
        for member, fitting in RULE_MEMBERS.items():
            rules = "[" + with_value(rule, member, value) + "]"
            text = with_value(denied, "policySnapshot", with_value(snapshot, "allowlistRules", rules))
            expect(text, kind in fitting, f"rule.{member} {kind}")
    for text in ("", " ", "null", "[]", "{}", '{"cwd":"/"}', json.dumps(subject)[:-1], json.dumps(subject) * 2):
        expect(text, False, text)
    twice = json.dumps(subject).replace('"command"', '"command": ["/usr/bin/true"], "command"')
    expect(twice, False, "a member twice")
    did_not_run(trace)
    context.let_rest()
    context.expect_alive()
    return None


def b07_arguments_that_mislead(context: Context) -> Deviation:
    """NUL anywhere is refused. Characters that hide or reorder are shown as codes, never as themselves. A command of
    200 kB and one of 5 000 arguments are shown; the latter cannot be allowed."""
    app = context.app
    context.policy("full", "off")
    trace = context.trace("b07")
    for command in ([f"{TOUCH}\0", str(trace)], [TOUCH, f"{trace}\0.x"], ["\0"], [TOUCH, str(trace), "\0"]):
        answer, _ = unhurried(lambda command=command: app.client.exec(command))
        same((reason(answer), answer and answer["error"]["code"]), ("invalid", "INVALID_REQUEST"), f"{command}")
    answer, _ = unhurried(lambda: context.touch(trace, cwd="/\0"))
    same(reason(answer), "cwd-unavailable", "cwd with NUL")
    for env in ({"A": "x\0y"}, {"A\0B": "x"}):
        answer, _ = unhurried(lambda env=env: context.touch(trace, env=env))
        same(reason(answer), "invalid", f"{env}")
    did_not_run(trace)

    context.policy("full", "always")
    hidden = "\u202e\u2066\u200b\u00ad\x1b\r\x07\u3164"
    exchange = app.client.exec([TOUCH, str(trace), f"x\n{hidden}[2Ky"], approvalTimeoutMs=PATIENCE_MS)
    card = context.expect_card(trace.name, ONCE_OR_DENY)
    same(set(hidden) & set(card.text), set(), "hidden characters in the window")
    # The end of a line is one.
    assert "x\n" in card.command, f"the lines are not shown: {card.command!r}"
    for code in ("202E", "2066", "200B", "00AD", "001B", "000D", "0007", "3164"):
        assert f"U+{code}" in card.command, f"{code} is not shown: {card.command!r}"
    context.deny(card)
    same(reason(exchange.answer()), "user-denied", "answer")

    exchange = app.client.exec([TOUCH, str(trace), "x" * 200_000], approvalTimeoutMs=PATIENCE_MS)
    context.expect_prompt_then_deny(exchange, trace, ONCE_OR_DENY)
    exchange = app.client.exec([TOUCH, str(trace), *["y"] * 5_000], approvalTimeoutMs=PATIENCE_MS)
    context.expect_prompt_then_deny(exchange, trace, ONCE_OR_DENY)
    context.expect_alive()
    return None


def b08_places_that_cannot_be(context: Context) -> Deviation:
    """Folders that are missing, files, links in a circle, longer than a path may be, and relative ones: refused, or run
    where they really are."""
    context.policy("full", "off")
    trace = context.trace("b08")
    circle = context.trace("b08")
    circle.symlink_to(circle)
    for cwd in ("/nowhere/at/all", str(Path(__file__)), str(circle), "/" + "x" * 5_000, "/proc/self/fd/999", "\ud7ff"):
        answer, _ = unhurried(lambda cwd=cwd: context.touch(trace, cwd=cwd))
        same(reason(answer), "cwd-unavailable", f"cwd {cwd[:40]!r}")
    did_not_run(trace)
    here = os.fspath(context.session.root)
    answer, exchange = unhurried(lambda: context.app.client.exec(["/bin/pwd"], cwd=here))
    same(ran(answer, exchange)["stdout"], here + "\n", "working directory")
    context.expect_alive()
    return None
