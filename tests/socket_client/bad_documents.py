"""Bad documents: unreadable, of another version, of another kind, open to others, on a full disk, changed under an
edit.

Under none of them may anything run that they do not clearly allow, and none of them may lose a byte.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app import App, document, identity_of, mode_of, running
from client import policy_snapshot
from context import TOUCH, Context, Deviation, Skipped, did_not_run, did_run, reason, same, succeeded
from webdriver import poll

#: Everything is allowed where this is in force: whoever misreads the policy runs the command.
LOOSE = document("full", "off", "full")

#: Texts that are no approvals document.
BAD_TEXTS: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n",
    "cut off": b'{"version":1,"defaults":{"security":"full"',
    "no object": b"[]",
    "no version": b'{"defaults":{"security":"full","ask":"off"}}',
    "later version": b'{"version":2,"defaults":{"security":"full","ask":"off"}}',
    "version as text": b'{"version":"1","defaults":{"security":"full","ask":"off"}}',
    "defaults of another kind": b'{"version":1,"defaults":7}',
    "unknown word": b'{"version":1,"defaults":{"security":"everything","ask":"off"}}',
    "agents of another kind": b'{"version":1,"defaults":{"security":"full","ask":"off"},"agents":[]}',
    "rule of another kind": b'{"version":1,"defaults":{"security":"full","ask":"off"},"agents":{"a":{"allowlist":[7]}}}',
    "forbidden agent": b'{"version":1,"defaults":{"security":"full","ask":"off"},"agents":{"__proto__":{}}}',
    "not UTF-8": b'{"version":1,"defaults":{"security":"full","ask":"off"},"x":"\xff"}',
    "noise": bytes(range(256)),
    "larger than any document": b'{"version":1,"defaults":{"security":"full","ask":"off"}}' + b" " * 5_000_000,
}


def expect_nothing_runs(context: Context, app: App) -> None:
    """Neither the socket nor the command line lets anything run."""
    trace = context.trace("document")
    try:
        exchange = app.client.exec([TOUCH, str(trace)])
    except OSError:
        pass  # No socket is served without a usable document.
    else:
        answer = exchange.answer()
        assert answer is None or answer["ok"] is False, f"answered {answer}"
    done = app.cli("exec", "--", TOUCH, str(trace))
    assert done.returncode != 0, f"the command line ended with {done.returncode}"
    did_not_run(trace)


def expect_runs(context: Context, app: App) -> None:
    """A fresh valid request is answered, and the policy in force again."""
    context.expect_alive(app)
    trace = context.trace("document")
    exchange = app.client.exec([TOUCH, str(trace)])
    succeeded(exchange.answer(), exchange)
    did_run(trace)


def expect_bad_document(context: Context, app: App, put: Callable[[Path], Any], remove: Callable[[Path], Any]) -> None:
    """While something bad is in the document's place: nothing runs, the doctor says so, it stays as it is, and the app
    lives; with a good document everything works again."""
    app.document_path.unlink()
    put(app.document_path)
    before = identity_of(app.document_path)
    poll("the doctor sees it", lambda: app.doctor()["document"]["level"] == "problem")
    finding = app.doctor()["document"]
    assert finding.get("remedy"), "the doctor has no remedy"
    expect_nothing_runs(context, app)
    said = app.cli("exec", "--", "/usr/bin/true").stderr
    assert "is not usable, so everything is denied" in said, f"the command line blames something else: {said}"
    findings = app.doctor()
    same([findings[check]["level"] for check in ("app", "history")], ["ok", "ok"], "findings about app and history")
    same(identity_of(app.document_path), before, "what was in the document's place")
    remove(app.document_path)
    app.write_document(LOOSE)
    expect_runs(context, app)


def started(context: Context) -> App:
    """An app of its own under which everything may run. Its state directory is OpenClaw's as well, so that it never
    makes a first document by itself."""
    app = context.other_app()
    (app.openclaw / "openclaw.json").write_text("{}")
    app.write_document(LOOSE)
    return app


def b40_texts_that_are_no_document(context: Context) -> Deviation:
    """Empty, cut off, of another version, with values of other kinds, no UTF-8, too large: nothing runs, and every byte
    stays. If it lasts, the socket goes too, and comes back with a good document."""
    with running(started(context)) as app:
        app.wait_listening()
        for name, text in BAD_TEXTS.items():

            def put(path: Path, text: bytes = text) -> None:
                path.write_bytes(text)
                path.chmod(0o600)

            try:
                expect_bad_document(context, app, put, Path.unlink)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error
        app.document_path.write_bytes(BAD_TEXTS["cut off"])
        app.wait_not_listening("off")
        poll("the socket goes with the document", lambda: not app.is_listening())
        app.write_document(LOOSE)
        expect_runs(context, app)
    return None


def b41_things_that_are_no_file(context: Context) -> Deviation:
    """A folder, links to a good document, to nothing and in a circle, a second name of the file, a pipe, a socket:
    nothing runs, and all stay."""
    with running(started(context)) as app:
        app.wait_listening()
        good = app.root / "good.json"
        good.write_text(app.text_of(LOOSE))
        good.chmod(0o600)
        before = good.read_bytes()

        def linked(path: Path) -> None:
            path.hardlink_to(good)

        def bound(path: Path) -> None:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(os.fspath(path))

        expect_bad_document(context, app, Path.mkdir, Path.rmdir)
        links = [lambda path, to=to: path.symlink_to(to) for to in (good, "nothing", app.document_path)]
        for put in (*links, linked, os.mkfifo, bound):
            expect_bad_document(context, app, put, Path.unlink)
        same(good.read_bytes(), before, "the document that was linked to")
    return None


def b42_a_document_that_others_may_change(context: Context) -> Deviation:
    """Others may write it, or its owner may not read it: nothing runs. Others may only read it: it is in force, and
    the doctor warns of the token. Its mode is never changed behind the owner's back."""
    with running(started(context)) as app:
        app.wait_listening()
        unreadable = () if os.geteuid() == 0 else (0o000, 0o200)
        for mode in (0o620, 0o602, 0o666, 0o777, *unreadable):
            app.document_path.chmod(mode)
            poll("the doctor sees it", lambda: app.doctor()["document"]["level"] == "problem")
            expect_nothing_runs(context, app)
            same(oct(mode_of(app.document_path)), oct(mode), "mode of the document")
            app.document_path.chmod(0o600)
            expect_runs(context, app)
        app.document_path.chmod(0o644)
        same(app.doctor()["document permissions"]["level"], "problem", "finding about the permissions")
        expect_runs(context, app)
        same(oct(mode_of(app.document_path)), "0o644", "mode of the document")
    return None


@contextmanager
def tiny_disk(path: Path) -> Iterator[None]:
    """A file system of 64 kB at this folder."""
    path.mkdir(mode=0o700)
    command = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "none", os.fspath(path)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        raise Skipped("a tiny disk can be mounted by root only, and not in every container")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", os.fspath(path)], check=True)


def b43_a_full_disk(context: Context) -> Deviation:
    """The document's disk is full: a grant that must be stored first does not run, and the document keeps every byte;
    with room again it runs and is stored."""
    folder = context.trace("b43")
    with tiny_disk(folder):
        app = context.other_app(folder)
        policy = document("allowlist", "on-miss", rules=[{"id": "1", "pattern": "/usr/bin/uptime"}])
        before = app.write_document(policy)
        with running(app):
            context.expect_alive(app)
            filler = folder / "filler"
            with open(filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(1_024))
                except OSError:
                    pass  # Full.
            grant = {"approvalDecision": "allow-always", "policySnapshot": policy_snapshot(policy)}
            trace = context.trace("b43")
            answer = app.client.exec([TOUCH, str(trace)], **grant).answer()
            same(reason(answer), "approval-store-unavailable", "reason")
            did_not_run(trace)
            same(app.document_path.read_bytes(), before, "document")
            same([path.name for path in folder.glob(".exec-approvals.*")], [], "half-written files")
            context.expect_alive(app)
            filler.unlink()
            exchange = app.client.exec([TOUCH, str(trace)], **grant)
            succeeded(exchange.answer(), exchange)
            did_run(trace)
            same(len(app.read_document()["agents"]["main"]["allowlist"]), 2, "entries")
    return None


def b44_a_document_changed_under_an_edit(context: Context) -> Deviation:
    """An edit made from an older document is refused, whatever it would do, and the newer document keeps every byte. A
    document that is being written in place counts as it is on disk: nothing runs under half of it."""
    with running(started(context)) as app:
        app.wait_listening()
        older = app.document_hash()
        newer = app.write_document(document("allowlist", "off"))
        for scope, field, value in (("defaults", "security", "full"), ("defaults", "security", "deny")):
            edit = {"kind": "set-policy", "scope": scope, "field": field, "value": value}
            answer = app.control({"method": "edit", "baseHash": older, "edits": [edit]})
            same(answer["kind"], "error", "answer")
            assert "changed since" in answer["message"], answer
            same(app.document_path.read_bytes(), newer, "document")
        text = app.text_of(LOOSE).encode()
        with open(app.document_path, "r+b", buffering=0) as file:
            file.truncate()
            for end in (len(text) // 3, len(text) - 2):
                file.write(text[file.tell() : end])
                expect_nothing_runs(context, app)
                same(app.document_path.read_bytes(), text[:end], "document")
            file.write(text[file.tell() :])
        expect_runs(context, app)
    return None


def b45_no_document_and_no_folder(context: Context) -> Deviation:
    """Document or state directory are removed while the app runs: nothing runs under the policy that was; back again,
    it works again."""
    with running(started(context)) as app:
        app.wait_listening()
        app.document_path.unlink()
        expect_denied_or_silent(context, app)
        app.write_document(LOOSE)
        expect_runs(context, app)
        # In one step: the app puts a socket back that is removed alone.
        gone = f"{app.openclaw}.gone"
        os.rename(app.openclaw, gone)
        shutil.rmtree(gone)
        expect_denied_or_silent(context, app)
        same(app.doctor()["app"]["level"], "ok", "finding about the app")
    return None


def expect_denied_or_silent(context: Context, app: App) -> None:
    """Without a document the built-in policy denies; the app may also make a first one, which allows nothing by
    itself."""
    trace = context.trace("document")
    try:
        answer = app.client.exec([TOUCH, str(trace)], approvalTimeoutMs=1_000).answer()
    except OSError:
        answer = None
    assert answer is None or answer["ok"] is False, json.dumps(answer)
    did_not_run(trace)
