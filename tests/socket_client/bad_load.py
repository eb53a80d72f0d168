"""Too much at once: a thousand connections that do nothing, that dawdle, or that all want something;
and an app that ends in the middle."""

from __future__ import annotations

import json
import resource
from contextlib import ExitStack, contextmanager
from collections.abc import Callable, Iterator

from app import document, is_alive, running
from client import Exchange, ask_frame, exec_frame, line_of
from context import TOUCH, Context, Deviation, did_not_run, reason, same, silent
from webdriver import poll

#: Connections at once.
MANY = 1_000


@contextmanager
def many_connections(context: Context, line: Callable[[], bytes] | None = None) -> Iterator[list[Exchange]]:
    """As many open connections; closed at the end. Each sends its line at once, if there is one: whoever has nothing to say
    makes room for others soon, and how many can connect in that time is a matter of the machine."""
    needed = MANY + 200
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    with ExitStack() as closing:
        opened = []
        for _ in range(MANY):
            exchange = context.app.client.connect()
            closing.callback(exchange.close)
            if line is not None:
                exchange.send(line()).half_close()
            opened.append(exchange)
        yield opened


def b20_a_thousand_idle_connections(context: Context) -> Deviation:
    """They send nothing: the first are closed, and once all have gone the app serves at once."""
    with many_connections(context) as opened:
        silent(opened[0].answer())
    context.expect_alive()
    return None


def b21_a_thousand_slow_connections(context: Context) -> Deviation:
    """They send a frame byte by byte and never its end: nothing runs."""
    context.policy("full", "off")
    trace = context.trace("b21")
    line = line_of(exec_frame(context.app.client.token, json.dumps({"command": [TOUCH, str(trace)]})))
    with many_connections(context) as opened:
        for index in range(20):
            for exchange in opened:
                exchange.send(line[index : index + 1])
    context.expect_alive()
    did_not_run(trace)
    return None


def b22_a_thousand_requests_at_once(context: Context) -> Deviation:
    """All signed, all for a command that the policy denies: each is refused, as denied or as too much at once."""
    context.policy("allowlist", "off")
    trace = context.trace("b22")
    inner = json.dumps({"command": [TOUCH, str(trace)]})
    with many_connections(context, lambda: line_of(exec_frame(context.app.client.token, inner))) as opened:
        reasons = [reason(exchange.answer()) for exchange in opened]
    same(set(reasons) - {"allowlist-miss", "rate-limited"}, set(), "reasons")
    assert reasons.count("allowlist-miss") >= 64, f"only {reasons.count('allowlist-miss')} were judged"
    did_not_run(trace)
    context.let_rest()
    context.expect_alive()
    return None


def b23_a_thousand_wrong_tokens(context: Context) -> Deviation:
    """Guessing is answered a few times and then met with silence; the right token works all the same."""
    with many_connections(context, lambda: line_of(ask_frame("guess", {"command": "id"}))) as opened:
        answers = [exchange.answer() for exchange in opened]
    same({answer["decision"] for answer in answers if answer}, {"deny"}, "decisions")
    assert answers.count(None) > MANY / 2, f"{MANY - answers.count(None)} guesses were answered"
    context.expect_alive()
    same(context.app.pending(), [], "what waits")
    return None


def b24_the_app_ends_in_the_middle(context: Context) -> Deviation:
    """While a command runs and a prompt waits, the app is told to end: the command and all that it started are ended,
    the prompt is withdrawn in silence, both connections are closed, and the socket is gone."""
    app = context.other_app()
    app.write_document(document("full", "off"))
    pids = context.trace("b24")
    with running(app):
        app.wait_listening()
        runs = app.client.exec(["/bin/sh", "-c", f"sleep 60 & echo $$ $! > {pids}; wait"])
        poll("the command runs", lambda: pids.exists() and len(pids.read_text().split()) == 2)
        waits = app.client.ask("apply", approvalTimeoutMs=60_000)
        poll("the prompt waits", app.pending)
        app.quit()
        for exchange in (runs, waits):
            silent(exchange.answer())
        poll("every process ends", lambda: not any(is_alive(int(pid)) for pid in pids.read_text().split()))
        assert not app.client.path.exists(), "the app left its socket behind"
    return None
