"""Rows M404 to M429: what the app decides about an `exec`, policy by policy."""

from __future__ import annotations

import copy
from typing import Any

from client import policy_snapshot
from context import (
    ONCE_ALWAYS_OR_DENY,
    ONCE_OR_DENY,
    PATIENCE_MS,
    TOUCH,
    Context,
    Deviation,
    did_not_run,
    did_run,
    refused,
    same,
    succeeded,
)

#: Refusals that several rows share: message and reason.
DISABLED = ("SYSTEM_RUN_DISABLED: security=deny", "security=deny")
MISS = ("SYSTEM_RUN_DENIED: allowlist miss", "allowlist-miss")
USER_DENIED = ("SYSTEM_RUN_DENIED: user denied", "user-denied")
OUTDATED = ("SYSTEM_RUN_DENIED: exec approvals update unavailable", "approval-store-unavailable")
NO_SNAPSHOT = ("delayed approval requires a prepared policy snapshot", "invalid", "INVALID_REQUEST")

#: A rule for the program that leaves a trace, and one for another program.
TOUCH_RULE = {"id": "rule-touch", "pattern": TOUCH}
OTHER_RULE = {"id": "rule-other", "pattern": "/usr/bin/uptime"}

SHELLS = ("/bin/sh", "/usr/bin/dash", "/usr/bin/bash")


def expect_refusal(context: Context, refusal: tuple[str, ...], **members: Any) -> None:
    """The shared app refuses in these words, nothing runs, and nobody was asked."""
    trace = context.trace("refused")
    exchange = context.touch(trace, **members)
    refused(exchange.answer(), exchange, *refusal)
    did_not_run(trace)


def expect_run(context: Context, **members: Any) -> None:
    """The shared app runs the command without asking anybody."""
    trace = context.trace("run")
    exchange = context.touch(trace, **members)
    succeeded(exchange.answer(), exchange)
    did_run(trace)


def expect_prompt(context: Context, buttons: list[str], **members: Any) -> None:
    """The window shows the request with these buttons; denied there, nothing runs."""
    trace = context.trace("prompt")
    context.expect_prompt_then_deny(context.touch(trace, **members), trace, buttons)


def granted(document: dict[str, Any], decision: str) -> dict[str, Any]:
    """A grant that a person gave elsewhere, under this document."""
    return {"approvalDecision": decision, "policySnapshot": policy_snapshot(document)}


def reviewed(document: dict[str, Any]) -> dict[str, Any]:
    """A grant of a reviewer program, under this document."""
    return {"approvalSource": "auto-review", "policySnapshot": policy_snapshot(document)}


def m404_deny_denies_whatever_was_granted(context: Context) -> Deviation:
    """deny, always, forwarded allow-once: SYSTEM_RUN_DISABLED: security=deny."""
    policy = context.policy("deny", "always")
    expect_refusal(context, DISABLED, **granted(policy, "allow-once"))
    expect_refusal(context, DISABLED)
    return None


def m405_a_forwarded_no_is_a_no(context: Context) -> Deviation:
    """full, off, forwarded deny: SYSTEM_RUN_DENIED: user denied. It needs no snapshot."""
    context.policy("full", "off")
    expect_refusal(context, USER_DENIED, approvalDecision="deny")
    return None


def m406_full_and_off_runs(context: Context) -> Deviation:
    """full, off: runs."""
    context.policy("full", "off")
    expect_run(context)
    return None


def m407_full_and_on_miss_runs(context: Context) -> Deviation:
    """full, on-miss: runs, as nothing can miss."""
    context.policy("full", "on-miss")
    expect_run(context)
    return None


def m408_full_and_always_asks(context: Context) -> Deviation:
    """full, always: asks. Allowed once in the window, it runs."""
    context.policy("full", "always")
    expect_prompt(context, ONCE_OR_DENY)
    trace = context.trace("m408")
    exchange = context.touch(trace)
    context.allow_once(context.expect_card(trace.name, ONCE_OR_DENY))
    succeeded(exchange.answer(), exchange)
    did_run(trace)
    return None


def m409_a_miss_that_nobody_is_asked_about_is_denied(context: Context) -> Deviation:
    """allowlist, off, miss: SYSTEM_RUN_DENIED: allowlist miss."""
    context.policy("allowlist", "off", rules=[OTHER_RULE])
    expect_refusal(context, MISS)
    return None


def m410_a_miss_asks(context: Context) -> Deviation:
    """allowlist, on-miss, miss: asks, and offers always."""
    context.policy("allowlist", "on-miss", rules=[OTHER_RULE])
    expect_prompt(context, ONCE_ALWAYS_OR_DENY)
    return None


def m411_a_match_runs_under_the_name_that_was_typed(context: Context) -> Deviation:
    """allowlist, on-miss, a match that can be bound: runs without asking. Peers give it its real path as its own name; ours
    keeps the name that was typed, which some programs go by, while the file stays the one that was pinned."""
    link = context.trace("m411")
    link.symlink_to("/usr/bin/cat")
    context.policy("allowlist", "on-miss", rules=[{"pattern": "/usr/bin/cat"}])
    for program in ("/usr/bin/cat", str(link), "cat"):
        exchange = context.app.client.exec([program, "/proc/self/cmdline"], approvalTimeoutMs=PATIENCE_MS)
        succeeded(exchange.answer(), exchange, f"{program}\0/proc/self/cmdline\0")
    return "what runs by a rule is told the name that was typed (peers: its real path)"


def m412_a_login_shell_cannot_be_bound_and_asks(context: Context) -> Deviation:
    """allowlist, on-miss, a match inside a login shell: counts as a miss, so it asks, and nothing can be remembered. The one
    form in which gateways send every text to a node is read as that text; what runs then is no login shell."""
    context.policy("allowlist", "on-miss", rules=[TOUCH_RULE, *({"pattern": shell} for shell in SHELLS)])
    trace = context.trace("m412")
    for shell in (["/usr/bin/bash", "-lc"], ["/bin/sh", "-l", "-c"], ["/usr/bin/bash", "--login", "-c"]):
        command = [*shell, f"{TOUCH} {trace}"]
        exchange = context.app.client.exec(command, approvalTimeoutMs=PATIENCE_MS)
        context.expect_prompt_then_deny(exchange, trace, ONCE_OR_DENY)
    context.policy("allowlist", "on-miss", rules=[{"pattern": "/usr/bin/cat"}])
    exchange = context.app.client.exec(["/bin/sh", "-lc", "cat /proc/self/cmdline"], approvalTimeoutMs=PATIENCE_MS)
    succeeded(exchange.answer(), exchange, "cat\0/proc/self/cmdline\0")
    return "sh -lc TEXT, exactly so, runs bound and without the login shell (peers' app: it asks)"


def m413_a_skill_program_asks_here(context: Context) -> Deviation:
    """allowlist, on-miss, trusted skills. Peers run a skill's program; ours is told of no skills on this host, so it
    asks like about any other."""
    context.policy("allowlist", "on-miss", autoAllowSkills=True)
    expect_prompt(context, ONCE_ALWAYS_OR_DENY)
    return "no skills are known on this host, so autoAllowSkills allows nothing by itself: it asks (peers: run)"


def m414_ask_always_asks_about_a_match_too(context: Context) -> Deviation:
    """allowlist, always, match: asks, with allow once and deny only."""
    context.policy("allowlist", "always", rules=[TOUCH_RULE])
    expect_prompt(context, ONCE_OR_DENY)
    return None


def m415_a_grant_without_a_snapshot_is_refused(context: Context) -> Deviation:
    """allowlist, on-miss, forwarded allow-once or allow-always without a snapshot: newest refuse it as invalid."""
    context.policy("allowlist", "on-miss")
    for decision in ("allow-once", "allow-always"):
        expect_refusal(context, NO_SNAPSHOT, approvalDecision=decision)
    return None


def m416_a_forwarded_always_runs_and_is_stored(context: Context) -> Deviation:
    """allowlist, on-miss, miss, forwarded allow-always under the current policy: runs, and an entry is stored."""
    policy = context.policy("allowlist", "on-miss", rules=[OTHER_RULE])
    expect_run(context, **granted(policy, "allow-always"))
    entries = context.app.read_document()["agents"]["main"]["allowlist"]
    same(entries[0], OTHER_RULE, "the entry that was there before")
    (stored,) = entries[1:]
    same((stored["pattern"], stored.get("source")), (TOUCH, "allow-always"), "the new entry")
    assert stored["id"], "the new entry has no id"
    return None


def m417_under_full_an_always_stores_nothing(context: Context) -> Deviation:
    """full, off, forwarded allow-always: runs, and the document keeps every byte."""
    policy = context.policy("full", "off")
    before = context.app.document_path.read_bytes()
    expect_run(context, **granted(policy, "allow-always"))
    same(context.app.document_path.read_bytes(), before, "document")
    return None


def m418_a_full_fallback_runs(context: Context) -> Deviation:
    """full, always, source ask-fallback, askFallback full: runs without a prompt."""
    context.policy("full", "always", "full")
    expect_run(context, approvalSource="ask-fallback")
    return None


def m419_an_allowlist_fallback_needs_a_match(context: Context) -> Deviation:
    """full, always, source ask-fallback, askFallback allowlist: a miss is denied; a match runs."""
    context.policy("full", "always", "allowlist")
    expect_refusal(context, MISS, approvalSource="ask-fallback")
    context.policy("full", "always", "allowlist", rules=[TOUCH_RULE])
    expect_run(context, approvalSource="ask-fallback")
    return None


def m420_a_deny_fallback_denies(context: Context) -> Deviation:
    """full, always, source ask-fallback, askFallback deny: SYSTEM_RUN_DISABLED: security=deny."""
    context.policy("full", "always", "deny")
    expect_refusal(context, DISABLED, approvalSource="ask-fallback")
    return None


def m421_a_review_lets_run_once(context: Context) -> Deviation:
    """allowlist, on-miss, miss, source auto-review under the current policy: runs once; nothing is stored, and the next
    one asks."""
    policy = context.policy("allowlist", "on-miss")
    before = context.app.document_path.read_bytes()
    expect_run(context, **reviewed(policy))
    same(context.app.document_path.read_bytes(), before, "document")
    expect_prompt(context, ONCE_ALWAYS_OR_DENY)
    return None


def m422_a_review_is_no_person(context: Context) -> Deviation:
    """full, always, source auto-review: denied, reason ask=always. Without a snapshot it is invalid already."""
    policy = context.policy("full", "always")
    expect_refusal(context, ("SYSTEM_RUN_DENIED: ask=always", "ask=always"), **reviewed(policy))
    expect_refusal(context, NO_SNAPSHOT, approvalSource="auto-review")
    return None


def m423_a_source_and_a_decision_exclude_each_other(context: Context) -> Deviation:
    """Source auto-review together with allow-once: INVALID_REQUEST, under every policy."""
    message = "approvalSource cannot be combined with explicit approval"
    for security in ("deny", "allowlist", "full"):
        policy = context.policy(security, "off")
        for source in ("auto-review", "ask-fallback"):
            members = {**granted(policy, "allow-once"), "approvalSource": source}
            expect_refusal(context, (message, "invalid", "INVALID_REQUEST"), **members)
    return None


def m424_an_unknown_source_is_invalid(context: Context) -> Deviation:
    """Source `other`: INVALID_REQUEST, approvalSource invalid, under every policy."""
    for security in ("deny", "allowlist", "full"):
        context.policy(security, "off")
        for source in ("other", "", "Auto-Review", "allow-once"):
            expect_refusal(context, ("approvalSource invalid", "invalid", "INVALID_REQUEST"), approvalSource=source)
    return None


def expect_outdated(context: Context, shown: dict[str, Any], live: dict[str, Any]) -> None:
    """Grants given under the one document are not honoured under the other, which keeps every byte."""
    before = context.app.write_document(live)
    for members in (granted(shown, "allow-once"), granted(shown, "allow-always"), reviewed(shown)):
        expect_refusal(context, OUTDATED, **members)
    same(context.app.document_path.read_bytes(), before, "document")


def m425_a_revoked_rule_takes_back_the_grant(context: Context) -> Deviation:
    """allowlist, on-miss, miss, a grant under a policy with a rule that has gone since: approval-store-unavailable.
    So it is when a value became stricter since."""
    shown = context.policy("allowlist", "on-miss", rules=[OTHER_RULE, {"pattern": "/usr/bin/id"}])
    live = context.policy("allowlist", "on-miss", rules=[OTHER_RULE])
    expect_outdated(context, shown, live)
    for name, value in (("security", "full"), ("askFallback", "full"), ("ask", "off"), ("autoAllowSkills", True)):
        looser = copy.deepcopy(live)
        looser["defaults"][name] = value
        expect_outdated(context, looser, live)
    return None


def m426_an_added_rule_keeps_the_grant(context: Context) -> Deviation:
    """allowlist, on-miss, miss, an unrelated rule added since: runs."""
    shown = context.policy("allowlist", "on-miss", rules=[OTHER_RULE])
    context.policy("allowlist", "on-miss", rules=[{"pattern": "/usr/bin/id"}, OTHER_RULE])
    expect_run(context, **granted(shown, "allow-once"))
    return None


def m427_a_promoted_rule_keeps_the_grant_and_a_demoted_does_not(context: Context) -> Deviation:
    """allowlist, on-miss, miss, a manual rule became allow-always since: runs. The reverse is outdated."""
    manual = context.policy("allowlist", "on-miss", rules=[OTHER_RULE])
    promoted = context.policy("allowlist", "on-miss", rules=[{**OTHER_RULE, "source": "allow-always"}])
    expect_run(context, **granted(manual, "allow-once"))
    expect_outdated(context, promoted, manual)
    return None


def m428_there_is_no_screen_to_record(context: Context) -> Deviation:
    """full, off, needsScreenRecording: UNAVAILABLE, PERMISSION_MISSING: screenRecording, after a person allowed it as
    well."""
    missing = ("PERMISSION_MISSING: screenRecording", "permission:screenRecording")
    policy = context.policy("full", "off")
    expect_refusal(context, missing, needsScreenRecording=True)
    expect_refusal(context, missing, needsScreenRecording=True, **granted(policy, "allow-once"))
    expect_run(context, needsScreenRecording=False)
    return None


def m429_a_missing_folder_is_refused(context: Context) -> Deviation:
    """full, off, a cwd that is missing or no folder: UNAVAILABLE, reason cwd-unavailable."""
    context.policy("full", "off")
    file = context.trace("m429")
    file.write_text("no folder")
    message = "Working directory does not exist, is inaccessible, or is not a directory."
    for cwd in (str(context.trace("m429")), str(file), "/dev/null/x"):
        expect_refusal(context, (message, "cwd-unavailable"), cwd=cwd)
    expect_run(context, cwd="/")
    return None
