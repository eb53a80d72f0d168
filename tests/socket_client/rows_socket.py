"""Rows L365 to L394 and L401 to L403: frames, authentication, prompts, and what a run returns."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import time
import uuid
from contextlib import ExitStack, contextmanager
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from app import document, is_alive, mode_of
from client import ANSWER_SECONDS, Client, Exchange, ask_frame, exec_frame, line_of, now_ms, sign
from context import (
    ONCE_ALWAYS_OR_DENY,
    ONCE_OR_DENY,
    PATIENCE_MS,
    TOUCH,
    Context,
    Deviation,
    Skipped,
    decided,
    did_not_run,
    ran,
    reason,
    refused,
    same,
    silent,
    succeeded,
)
from fake_app import FakeApp
from webdriver import poll

#: The user whom every Unix has and nobody is.
NOBODY = 65_534

#: How far a frame's time may be from the app's, in milliseconds.
FRESH_MS = 10_000

#: Seconds that a person has when the requester does not say.
DEFAULT_PROMPT_SECONDS = 15

#: Most bytes of both outputs together, and what says that there was more.
OUTPUT_BYTES = 200_000
TRUNCATED = "... (truncated)"


@contextmanager
def open_to_others(paths: list[Path], mode: int) -> Iterator[None]:
    """Gives everybody these rights for a while."""
    with ExitStack() as undo:
        for path in paths:
            undo.callback(path.chmod, mode_of(path))
            path.chmod(mode_of(path) | mode)
        yield


def first_bytes_as(user: int, path: Path) -> bytes:
    """What a process of another user gets from the socket when it sends nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            os.write(writing, Client(path, "").connect().read_to_end())
        except BaseException as error:  # noqa: BLE001 (a forked child must not return into the tests)
            os.write(writing, repr(error).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return data


def l365_a_peer_of_another_user_is_told_deny_unread(context: Context) -> Deviation:
    """A peer whose user is not the app's: one `decision` line with a fresh UUID and `deny`, then the end. Nothing of
    the request is read: the answer comes though none was sent."""
    if os.geteuid() != 0:
        raise Skipped("only root can connect as another user")
    app = context.app
    folders = [context.session.root, app.root, app.openclaw]
    with open_to_others(folders, 0o001), open_to_others([app.client.path], 0o002):
        answers = [json.loads(first_bytes_as(NOBODY, app.client.path)) for _ in range(2)]
    for answer in answers:
        same(answer, {"type": "decision", "id": str(uuid.UUID(answer["id"])), "decision": "deny"}, "answer")
    assert answers[0]["id"] != answers[1]["id"]
    return None


def l366_allow_once_in_the_window_is_the_answer(context: Context) -> Deviation:
    """A valid `request`, and a person who presses Allow once: `decision` with the request's id and `allow-once`."""
    word = context.fresh("l366")
    asked = context.app.client.ask(f"kubectl get {word}", approvalTimeoutMs=PATIENCE_MS)
    context.allow_once(context.expect_card(word, ONCE_ALWAYS_OR_DENY))
    decided(asked.answer(), asked, "allow-once")
    return None


def l367_a_wrong_token_is_denied_without_a_dialog(context: Context) -> Deviation:
    """A `request` with another token: `deny` under its id at once; nothing waits for a person."""
    app = context.app
    for token in ("", "wrong", app.client.token[:-1], app.client.token + " ", app.client.token.swapcase()):
        asked = app.client.send(ask_frame(token, {"command": "id"}))
        decided(asked.answer(), asked, "deny")
    same(app.pending(), [], "what waits")
    return None


def l368_escape_puts_the_request_aside(context: Context) -> Deviation:
    """Escape while deny is offered. Peers answer deny; ours puts the request into the inbox, where it still waits
    until a person answers there, or its time is over (l369)."""
    word = context.fresh("l368")
    asked = context.app.client.ask(f"deploy {word}", approvalTimeoutMs=PATIENCE_MS)
    card = context.expect_card(word, ONCE_ALWAYS_OR_DENY)
    window = context.app.window
    assert window is not None
    window.escape()
    window.wait_gone(card)
    same([waiting["id"] for waiting in context.app.pending()], [card.id], "what waits after Escape")
    assert asked.is_open()
    context.app.cli("deny", "--all")
    decided(asked.answer(), asked, "deny")
    return "Escape answers nothing: the request waits in the inbox, where it can be answered (peers: deny)"


def l369_a_prompt_that_nobody_answers_ends_in_silence(context: Context) -> Deviation:
    """A `request` that nobody answers for the newest peers' 15 s: the connection is closed without a line."""
    word = context.fresh("l369")
    begun = time.monotonic()
    asked = context.app.client.ask(f"sleep {word}")
    card = None
    try:
        card = context.expect_card(word, ONCE_ALWAYS_OR_DENY)
        for waiting in context.app.pending():
            given = waiting["expiresAtMs"] - waiting["createdAtMs"]
            same(given, DEFAULT_PROMPT_SECONDS * 1000, "the time that the card gives")
    except AssertionError:
        # A machine may need longer to show it than the peers give: then it was never there to be answered.
        if asked.is_open():
            raise
    silent(asked.answer())
    waited = time.monotonic() - begun
    assert waited >= DEFAULT_PROMPT_SECONDS - 0.5, f"it took {waited:.1f} s"
    assert context.app.window is not None
    if card is not None:
        same(context.app.window.wait_for_outcome(card), "expired", "outcome in the window")
    return None


def l370_a_request_without_a_command_is_not_answered(context: Context) -> Deviation:
    """A `request` whose inner object has no `command`: closed without a line, and nothing waits."""
    app = context.app
    silent(app.client.send(ask_frame(app.client.token, {"cwd": "/"})).answer())
    same(app.pending(), [], "what waits")
    return None


def l371_ask_always_offers_no_always(context: Context) -> Deviation:
    """`ask: "always"` without `allowedDecisions`: the window offers allow once and deny, and nothing else."""
    word = context.fresh("l371")
    asked = context.app.client.ask(f"apply {word}", ask="always", approvalTimeoutMs=PATIENCE_MS)
    context.deny(context.expect_card(word, ONCE_OR_DENY))
    decided(asked.answer(), asked, "deny")
    return None


def l372_allowed_decisions_keep_their_order_and_lose_the_unknown(context: Context) -> Deviation:
    """`["deny","bogus",7,"allow-once"]`: the window offers deny and allow once, in that order."""
    word = context.fresh("l372")
    offered = ["deny", "bogus", 7, "allow-once"]
    asked = context.app.client.ask(f"apply {word}", allowedDecisions=offered, approvalTimeoutMs=PATIENCE_MS)
    card = context.expect_card(word, ["deny", "allow-once"])
    same([waiting["decisions"] for waiting in context.app.pending()], [["deny", "allow-once"]], "decisions of the card")
    context.deny(card)
    decided(asked.answer(), asked, "deny")
    return None


def l373_allowed_decisions_that_are_no_array_count_as_none(context: Context) -> Deviation:
    """`allowedDecisions: "deny"`: as if there were none, so `ask` decides what is offered."""
    for ask, buttons in (("on-miss", ONCE_ALWAYS_OR_DENY), ("always", ONCE_OR_DENY)):
        word = context.fresh("l373")
        asked = context.app.client.ask(
            f"apply {word}", allowedDecisions="deny", ask=ask, approvalTimeoutMs=PATIENCE_MS
        )
        context.deny(context.expect_card(word, buttons))
        decided(asked.answer(), asked, "deny")
    return None


def l374_an_unknown_type_is_not_answered(context: Context) -> Deviation:
    """`type: "ping"`: closed without a line."""
    silent(context.app.client.send(ask_frame(context.app.client.token, {"command": "id"}, type="ping")).answer())
    return None


def l375_an_endless_line_is_not_answered(context: Context) -> Deviation:
    """300 000 bytes without a newline: closed without a line, while the requester's end is still open."""
    client = context.app.client
    head = line_of(ask_frame(client.token, {"command": "x" * 300_000}))[:300_000]
    silent(client.connect().send(head).answer())
    return None


def l376_a_half_close_ends_a_line_without_newline(context: Context) -> Deviation:
    """A request without its newline, then a half-close: handled like any other."""
    word = context.fresh("l376")
    client = context.app.client
    frame = ask_frame(client.token, {"command": f"apply {word}", "approvalTimeoutMs": PATIENCE_MS})
    asked = client.connect().send(line_of(frame)[:-1]).half_close()
    asked.frame = frame
    context.deny(context.expect_card(word, ONCE_ALWAYS_OR_DENY))
    decided(asked.answer(), asked, "deny")
    return None


def l377_a_half_close_does_not_cancel(context: Context) -> Deviation:
    """Newline, half-close, and a requester that waits: the answer is delivered. So it is without the half-close."""
    for half_closes in (True, False):
        word = context.fresh("l377")
        client = context.app.client
        frame = ask_frame(client.token, {"command": f"apply {word}", "approvalTimeoutMs": PATIENCE_MS})
        asked = client.connect().send(line_of(frame))
        asked.frame = frame
        if half_closes:
            asked.half_close()
        context.deny(context.expect_card(word, ONCE_ALWAYS_OR_DENY))
        decided(asked.answer(), asked, "deny")
    return None


def l378_a_requester_that_leaves_takes_its_prompt_along(context: Context) -> Deviation:
    """The requester closes entirely while the window asks: newest peers dismiss the prompt, and nothing runs."""
    context.policy("full", "always")
    trace = context.trace("l378")
    asked = context.touch(trace)
    card = context.expect_card(trace.name, ONCE_OR_DENY)
    asked.close()
    assert context.app.window is not None
    same(context.app.window.wait_for_outcome(card), "cancelled", "outcome in the window")
    same(context.app.pending(), [], "what waits")
    did_not_run(trace)
    return None


def limit_of_age(context: Context, way: int, proven: Callable[[int, int], bool]) -> None:
    """Asks with frames that are just fresh or just expired until the answers prove enough of the limit, or contradict
    it. The way is 1 for times that are past and -1 for times that are to come.

    The app looks at its clock somewhere between the sending and the answer, so each answer bounds the limit with the
    time of one end alone: it need not come within the millisecond in which it was asked for."""
    client = context.app.client
    at_least, less_than = 0, 10 * FRESH_MS
    deadline = time.monotonic() + ANSWER_SECONDS
    # How many milliseconds after its sending a frame is thought to be looked at, and how old it is then.
    guesses = itertools.cycle(itertools.product(range(6), (FRESH_MS, FRESH_MS + 1)))
    while not proven(at_least, less_than):
        if time.monotonic() >= deadline:
            raise AssertionError(f"proven is only that the limit is at least {at_least} and less than {less_than} ms")
        delay, age = next(guesses)
        exchange = client.connect()
        before = now_ms() + 2
        ts = before + delay - way * age
        exchange.frame = exec_frame(client.token, '{"command":"what is refused soonest"}', ts)
        line = line_of(exchange.frame)
        while now_ms() < before:
            pass
        answer = exchange.send(line).half_close().answer()
        least, most = sorted(way * (now - ts) for now in (before, now_ms()))
        if reason(answer) == "rate-limited":
            continue
        if reason(answer) == "ttl":
            refused(answer, exchange, "expired request", "ttl", "INVALID_REQUEST")
            less_than = min(less_than, most)
        else:
            refused(answer, exchange, "invalid payload", "json", "INVALID_REQUEST")
            at_least = max(at_least, least)
        if not at_least <= FRESH_MS < less_than:
            raise AssertionError(f"proven is that the limit is at least {at_least} and less than {less_than} ms")


def l379_exactly_ten_seconds_is_fresh(context: Context) -> Deviation:
    """A frame that is 10 000 ms old, to the millisecond: processed (and refused only for what is in it)."""
    limit_of_age(context, 1, lambda at_least, _: at_least == FRESH_MS)
    return None


def l380_one_millisecond_more_is_expired(context: Context) -> Deviation:
    """A frame that is 10 001 ms old: INVALID_REQUEST, expired request, ttl."""
    limit_of_age(context, 1, lambda _, less_than: less_than == FRESH_MS + 1)
    return None


def l381_a_frame_from_the_future_is_expired_too(context: Context) -> Deviation:
    """A frame that is 10 001 ms ahead: as one that is as old. One that is 10 000 ms ahead is fresh."""
    limit_of_age(context, -1, lambda at_least, less_than: (at_least, less_than) == (FRESH_MS, FRESH_MS + 1))
    return None


def l382_the_ends_of_time_do_not_overflow(context: Context) -> Deviation:
    """The least and the greatest 64-bit time: ttl, and the app lives."""
    client = context.app.client
    for ts in (-(2**63), 2**63 - 1):
        exchange = client.send(exec_frame(client.token, '{"command":[]}', ts))
        refused(exchange.answer(), exchange, "expired request", "ttl", "INVALID_REQUEST")
    context.expect_alive()
    return None


def expect_invalid_auth(context: Context, change: dict[str, Any], token: str | None = None) -> None:
    """A frame that would run under this policy, but is not signed as it must be."""
    context.policy("full", "off")
    trace = context.trace("auth")
    client = context.app.client
    inner = json.dumps({"command": [TOUCH, str(trace)]})
    exchange = client.send(exec_frame(token or client.token, inner, **change))
    refused(exchange.answer(), exchange, "invalid auth", "hmac", "INVALID_REQUEST")
    did_not_run(trace)


def signed_for(context: Context) -> tuple[dict[str, Any], Path]:
    """A frame that would run, not sent yet, and its trace."""
    trace = context.trace("auth")
    inner = json.dumps({"command": [TOUCH, str(trace)]})
    return exec_frame(context.app.client.token, inner), trace


def l383_the_signature_of_another_token_is_refused(context: Context) -> Deviation:
    """Signed with another token: INVALID_REQUEST, invalid auth, hmac."""
    expect_invalid_auth(context, {}, "another-token")
    return None


def l384_an_upper_case_signature_is_refused(context: Context) -> Deviation:
    """The right signature in upper case: invalid auth."""
    frame, trace = signed_for(context)
    expect_changed_is_refused(context, {**frame, "hmac": frame["hmac"].upper()}, trace)
    return None


def l385_a_shortened_signature_is_refused(context: Context) -> Deviation:
    """The right signature without its last digit: invalid auth."""
    frame, trace = signed_for(context)
    expect_changed_is_refused(context, {**frame, "hmac": frame["hmac"][:63]}, trace)
    return None


def expect_changed_is_refused(context: Context, frame: dict[str, Any], trace: Path) -> None:
    """The frame is refused as not signed, though the policy would let its command run."""
    context.policy("full", "off")
    exchange = context.app.client.send(frame)
    refused(exchange.answer(), exchange, "invalid auth", "hmac", "INVALID_REQUEST")
    did_not_run(trace)


def l386_time_is_checked_before_the_signature(context: Context) -> Deviation:
    """A stale frame with a wrong signature: ttl, not hmac."""
    client = context.app.client
    exchange = client.send(exec_frame("another-token", '{"command":[]}', now_ms() - 3 * FRESH_MS))
    refused(exchange.answer(), exchange, "expired request", "ttl", "INVALID_REQUEST")
    return None


def l387_a_command_that_is_no_array_is_no_payload(context: Context) -> Deviation:
    """`{"command":"ls"}`: INVALID_REQUEST, invalid payload, json."""
    exchange = context.app.client.exec_json('{"command":"ls"}')
    refused(exchange.answer(), exchange, "invalid payload", "json", "INVALID_REQUEST")
    return None


def l388_an_empty_command_is_refused(context: Context) -> Deviation:
    """`{"command":[]}`: INVALID_REQUEST, command required, invalid. So are blank programs."""
    for command in ([], [""], ["  "]):
        exchange = context.app.client.exec(command)
        refused(exchange.answer(), exchange, "command required", "invalid", "INVALID_REQUEST")
    return None


def l389_a_program_with_blanks_around_it_is_refused(context: Context) -> Deviation:
    """`[" /usr/bin/id "]`, newest: INVALID_REQUEST, executable has surrounding whitespace. It is not trimmed and
    run."""
    context.policy("full", "off")
    exchange = context.app.client.exec([" /usr/bin/id "])
    refused(exchange.answer(), exchange, "executable has surrounding whitespace", "invalid", "INVALID_REQUEST")
    return None


def l390_the_published_signature_is_ours(_: Context) -> Deviation:
    """Token demo-token-A, the published nonce, time and request: the published signature."""
    made = sign("demo-token-A", "00112233445566778899aabbccddeeff", 1_760_000_000_000, '{"command":["/usr/bin/true"]}')
    same(made, "d62552de087f562079e314f00dc6111e8f4e5e5ddaec9d1265ea6463cef42582", "signature")
    return None


def l391_a_token_beyond_ascii_signs_as_its_utf8(context: Context) -> Deviation:
    """Token `tök`: its UTF-8 bytes are the key. The command line signs alike."""
    same(sign("tök", "n", 1, "{}"), "88dbdf48d58c23914f5577c99d7c5155d9132ee44aae6f0637a8518ab4290a56", "signature")
    client = context.other_app()
    client.client.token = "tök"
    client.write_document(document("deny", "off"))
    with FakeApp(client.client.path, lambda request: [answer_to(request)]) as fake:
        same(client.cli("exec", "--", "héllo", "\x01").returncode, 0, "exit code")
    (frame,) = fake.requests
    expected = sign("tök", frame["nonce"], frame["ts"], frame["requestJson"])
    same(frame["hmac"], expected, "signature of the command line")
    assert abs(frame["ts"] - now_ms()) < FRESH_MS
    same(json.loads(frame["requestJson"])["command"], ["héllo", "\x01"], "what was signed")
    return None


def l392_a_frame_is_taken_once(context: Context) -> Deviation:
    """The same frame twice within 10 s. Peers take it again; ours refuses, so the command runs once."""
    context.policy("full", "off")
    log = context.trace("l392")
    client = context.app.client
    inner = json.dumps({"command": ["/bin/sh", "-c", f"echo once >> {shlex.quote(str(log))}"]})
    frame = exec_frame(client.token, inner)
    first = client.send(frame)
    succeeded(first.answer(), first)
    for _ in range(2):
        again = client.send(frame)
        refused(again.answer(), again, "replayed request", "replay", "INVALID_REQUEST")
    other_id = client.send({**frame, "id": "another"})
    refused(other_id.answer(), other_id, "replayed request", "replay", "INVALID_REQUEST")
    same(log.read_text(), "once\n", "what ran")
    return "a replayed frame is refused (peers: accepted again)"


def answer_to(request: dict[str, Any], **payload: Any) -> dict[str, Any]:
    """A good `exec-res`."""
    result = {"exitCode": 0, "timedOut": False, "success": True, "stdout": "", "stderr": "", "error": None}
    return {"type": "exec-res", "id": request["id"], "ok": True, "payload": {**result, **payload}}


def l393_ok_without_a_payload_is_no_app(context: Context) -> Deviation:
    """An answer with ok=true and nothing else: as if there were no app. The command line fails and runs nothing
    itself."""
    client = context.other_app()
    client.write_document(document("full", "off", "full"))
    trace = context.trace("l393")
    bare: list[dict[str, Any]] = [{"ok": True}, {"ok": False}, {"ok": True, "error": {"code": "X", "message": "x"}}]
    for members in bare:
        answers = [{"type": "exec-res", "id": "x", **members}]
        with FakeApp(client.client.path, lambda _, answers=answers: answers):
            done = client.cli("exec", "--", TOUCH, str(trace))
        client.client.path.unlink()
        assert done.returncode not in (0, 3), f"{members}: exit code {done.returncode}"
        assert "not understood" in done.stderr, done.stderr
        did_not_run(trace)
    return None


def l394_lines_of_another_type_are_skipped(context: Context) -> Deviation:
    """Two lines, the first `{"type":"noise"}`: the second is the answer, for `exec` and for `request`."""
    client = context.other_app()
    client.write_document(document("deny", "off"))
    noise = {"type": "noise"}
    with FakeApp(client.client.path, lambda request: [noise, answer_to(request, stdout="second\n", exitCode=3)]):
        done = client.cli("exec", "--", "id")
    same((done.returncode, done.stdout), (3, "second\n"), "exec")
    client.client.path.unlink()
    deny = {"type": "decision", "id": "x", "decision": "deny"}
    with FakeApp(client.client.path, lambda _: [noise, {"type": "exec-res"}, deny]):
        done = client.cli("--json", "ask", "--", "id")
    same(json.loads(done.stdout)["decision"], "deny", "ask")
    return None


def l401_output_is_cut_at_a_character_and_says_so(context: Context) -> Deviation:
    """3 MiB of `é`. Peers keep the last MiB of each stream; ours keeps the first 200 000 bytes of both together, valid
    UTF-8, with `... (truncated)` at the end."""
    context.policy("full", "off")
    script = "yes é | tr -d '\\n' | head -c 3145728"
    exchange = context.app.client.exec(["/bin/sh", "-c", script])
    payload = ran(exchange.answer(), exchange)
    kept = payload["stdout"]
    size = len(kept.encode())
    assert OUTPUT_BYTES - 4 <= size <= OUTPUT_BYTES, f"{size} bytes"
    body = kept.removesuffix("\n" + TRUNCATED)
    assert body != kept, f"it ends with {kept[-40:]!r}"
    same(set(body), {"é"}, "characters before the marker")
    same((payload["stderr"], payload["exitCode"], payload["success"]), ("", 0, True), "the rest of the payload")
    return "both streams together keep their first 200 000 bytes and end with the marker (peers: the last MiB of each)"


def l402_a_command_that_fails_was_run(context: Context) -> Deviation:
    """A command that exits with 3: ok=true, exitCode 3, success false, error `exit 3`."""
    context.policy("full", "off")
    exchange = context.app.client.exec(["/bin/sh", "-c", "echo out; echo err >&2; exit 3"])
    payload = {
        "exitCode": 3,
        "timedOut": False,
        "success": False,
        "stdout": "out\n",
        "stderr": "err\n",
        "error": "exit 3",
    }
    same(ran(exchange.answer(), exchange), payload, "payload")
    return None


def l403_a_run_that_takes_too_long_is_ended(context: Context) -> Deviation:
    """timeoutMs 200 and a `sleep` of minutes: ok=true, timedOut, not a success, error `timeout`, no exitCode, and what was
    printed before. Its whole process group ends."""
    context.policy("full", "off")
    script = "echo begun; sleep 600 & echo $!; sleep 600"
    # A machine that is too busy to print both lines within that gets longer.
    for limit in (200, 2_000, 20_000):
        exchange = context.app.client.exec(["/bin/sh", "-c", script], timeoutMs=limit)
        payload = ran(exchange.answer(), exchange)
        said = payload.pop("stdout").split()
        same(payload, {"timedOut": True, "success": False, "stderr": "", "error": "timeout"}, "payload")
        if len(said) == 2:
            break
    same(said[:1], ["begun"], "what was printed before")
    poll("the process in the background ends", lambda: not is_alive(int(said[1])))
    return None
