"""Rows L395 to L400: what may be where the socket belongs, and who else may want it."""

from __future__ import annotations

import os
import re
import socket
import stat
from pathlib import Path

from app import App, document, identity_of, mode_of, running
from client import Client
from context import Context, Deviation, same
from webdriver import poll


def bind(path: Path) -> socket.socket:
    """A foreign listener at this path."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.fspath(path))
    listener.listen()
    return listener


def prepared(context: Context) -> App:
    """An app with a document, not started."""
    app = context.other_app()
    app.write_document(document("deny", "off"))
    return app


def expect_private_socket(app: App) -> None:
    """It listens on a socket of mode 0600."""
    app.wait_listening()
    assert stat.S_ISSOCK(app.client.path.lstat().st_mode)
    same(oct(mode_of(app.client.path)), "0o600", "mode of the socket")
    same(app.doctor()["approval socket"]["level"], "ok", "finding of the doctor")


def expect_refused_then_served(context: Context, app: App, why: str, remove: str) -> None:
    """Whatever is in the way stays untouched while the app lives on and says why it does not listen; once it is
    removed, the app serves by itself."""
    path = app.client.path
    before = identity_of(path)
    with running(app):
        app.wait_not_listening(why)
        same(identity_of(path), before, "what was in the way")
        getattr(path, remove)()
        context.expect_alive(app)
        expect_private_socket(app)


def l395_something_else_in_the_sockets_place_stays(context: Context) -> Deviation:
    """A file, a folder, a link (to a file, to a socket, to nothing) or a pipe at the socket's path: the app refuses to
    listen, touches nothing, lives on and says so."""
    file = prepared(context)
    file.client.path.write_text("mine")
    expect_refused_then_served(context, file, "file", "unlink")

    folder = prepared(context)
    folder.client.path.mkdir()
    expect_refused_then_served(context, folder, "directory", "rmdir")

    target = context.trace("l395")
    target.write_text("mine")
    with bind(context.trace("l395")) as listener:
        for name in (target, context.trace("l395"), Path(listener.getsockname())):
            link = prepared(context)
            link.client.path.symlink_to(name)
            expect_refused_then_served(context, link, "symlink", "unlink")
    same(target.read_text(), "mine", "what the link led to")

    pipe = prepared(context)
    os.mkfifo(pipe.client.path)
    expect_refused_then_served(context, pipe, "fifo", "unlink")
    return None


def l396_a_stale_socket_is_replaced(context: Context) -> Deviation:
    """A socket that nobody listens on, as after a crash: removed and bound anew. One that is listened on is left alone
    until its owner goes."""
    stale = prepared(context)
    bind(stale.client.path).close()
    before = identity_of(stale.client.path)
    with running(stale):
        expect_private_socket(stale)
        assert identity_of(stale.client.path) != before
        context.expect_alive(stale)

    live = prepared(context)
    with bind(live.client.path) as owner:
        before = identity_of(live.client.path)
        with running(live):
            live.wait_not_listening("another program")
            same(identity_of(live.client.path), before, "the other's socket")
            owner.close()
            context.expect_alive(live)
    return None


def l397_missing_folders_are_made_for_the_owner_only(context: Context) -> Deviation:
    """The state directory is missing, or the document names a socket in folders that are: made with 0700, the socket
    with 0600."""
    root = context.trace("l397")
    fresh = context.other_app(root / "deep" / "openclaw")
    with running(fresh):
        poll("a first document", fresh.document_path.exists)
        expect_private_socket(fresh)
        made = fresh.read_document()
        fresh.client.token = made["socket"]["token"]
        same(made["socket"]["path"], str(fresh.client.path), "path in the first document")
        same(len(fresh.client.token), 32, "characters of the token")
        context.expect_alive(fresh)
    for folder in (root, root / "deep", fresh.openclaw):
        same(oct(mode_of(folder)), "0o700", f"mode of {folder}")
    same(oct(mode_of(fresh.document_path)), "0o600", "mode of the document")

    elsewhere = context.other_app()
    elsewhere.client = Client(elsewhere.root / "a" / "b" / "own.sock", elsewhere.client.token)
    elsewhere.write_document(document("deny", "off"))
    with running(elsewhere):
        context.expect_alive(elsewhere)
        expect_private_socket(elsewhere)
    for folder in (elsewhere.root / "a", elsewhere.root / "a" / "b"):
        same(oct(mode_of(folder)), "0o700", f"mode of {folder}")
    return None


def l398_a_folder_that_others_may_write_is_refused(context: Context) -> Deviation:
    """The socket's folder is group-writable. Newest peers refuse and change nothing (older ones chmod it); ours too,
    and it serves once the owner has closed the folder."""
    app = context.other_app()
    folder = app.root / "shared"
    folder.mkdir()
    folder.chmod(0o770)
    app.client = Client(folder / "own.sock", app.client.token)
    app.write_document(document("deny", "off"))
    with running(app):
        app.wait_not_listening("writable by others")
        same(oct(mode_of(folder)), "0o770", "mode of the folder")
        same(list(folder.iterdir()), [], "content of the folder")
        folder.chmod(0o700)
        context.expect_alive(app)
    return None


def l399_a_second_instance_waits_for_the_first(context: Context) -> Deviation:
    """Two apps for the same socket: the second does not bind, tries again after 1, 2, 4 … s, and takes over when the
    first has ended. The first serves all the time."""
    first = prepared(context)
    second = context.other_app(first.openclaw)
    second.client = first.client
    lock = first.client.path.with_name(first.client.path.name + ".lifecycle.lock")
    with running(first):
        first.wait_listening()
        socket_before, lock_before = identity_of(first.client.path), lock.lstat().st_ino
        same(oct(mode_of(lock)), "0o600", "mode of the lock")
        with running(second):
            second.wait_not_listening("already held")
            poll("three tries, further and further apart", lambda: len(pauses(second)) >= 3)
            # There may be a further one by now.
            same(pauses(second)[:3], [1, 2, 4], "pauses")
            same(identity_of(first.client.path), socket_before, "the first one's socket")
            context.expect_alive(first)
            first.quit()
            poll("the second listens", lambda: second.doctor()["approval socket"]["level"] == "ok")
            context.expect_alive(second)
            same(lock.lstat().st_ino, lock_before, "the lock file, which is never deleted")
    return None


def pauses(app: App) -> list[int]:
    """Seconds that the app said it would wait before each further try to listen."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", app.log())
    return [int(seconds) for seconds in re.findall(r"not listening.*?pause_s=(\d+)", plain)]


def l400_only_its_own_socket_is_removed_at_the_end(context: Context) -> Deviation:
    """Somebody replaced the socket while the app ran: at the end the other one is left alone. Its own is removed."""
    own = prepared(context)
    with running(own):
        own.wait_listening()
        own.quit()
        assert not own.client.path.exists(), "the app left its socket behind"

    replaced = prepared(context)
    with running(replaced):
        replaced.wait_listening()
        # In one step: the app binds again what is removed, sooner or later than another program would.
        beside = replaced.client.path.with_name("other.sock")
        with bind(beside) as other:
            beside.rename(replaced.client.path)
            before = identity_of(replaced.client.path)
            replaced.quit()
            same(identity_of(replaced.client.path), before, "the other's socket")
            with replaced.client.connect().stream, other.accept()[0]:
                pass
    return None
