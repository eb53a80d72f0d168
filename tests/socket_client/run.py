"""Uses the running app through its approval socket as a foreign requester would, and through its window as a person.

    python3 tests/socket_client/run.py [--row L366 …] [--list] [PART]

Builds nothing: `countersign` and `countersign-desktop` are taken from target/debug, or from COUNTERSIGN_BIN and
COUNTERSIGN_DESKTOP_BIN. Needs Python 3.11, dbus-daemon, WebKitWebDriver, and Xvfb where there is no display.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback

sys.dont_write_bytecode = True

from bad_input import BAD_INPUT  # noqa: E402 (after bytecode is off, so that nothing is written into the sources)
from context import Context, Row, Skipped  # noqa: E402
from rows import ROWS  # noqa: E402

TESTS: dict[str, Row] = {**ROWS, **BAD_INPUT}


def chosen(rows: list[str], part: str) -> dict[str, Row]:
    """The tests whose number begins with one of the rows, or all, and whose title contains the part. A row that there
    is not is a mistake; a part that no title contains leaves nothing to run, as with every test runner of the
    project."""
    words = tuple(row.upper() for row in rows)
    tests = {name: test for name, test in TESTS.items() if not words or name.startswith(words)}
    if not tests:
        raise SystemExit(f"no test begins with {' or '.join(words)}; --list names them")
    return {name: test for name, test in tests.items() if part.replace(" ", "_") in test.__name__}


def title(test: Row) -> str:
    """The sentence that a test's name is."""
    return test.__name__.split("_", 1)[1].replace("_", " ")


def first_sentence(test: Row) -> str:
    """What a test expects, on one line."""
    return " ".join((test.__doc__ or "").split())


def run(tests: dict[str, Row]) -> int:
    """Runs the tests, prints one line for each and the summary; the number of failures."""
    context = Context()
    deviations: list[str] = []
    skipped = failed = passed = 0
    started = time.monotonic()
    try:
        for name, test in tests.items():
            begun = time.monotonic()
            try:
                deviation = test(context)
                context.tidy()
            except Skipped as reason:
                skipped += 1
                print(f"{name} skipped: {reason}", flush=True)
                continue
            except Exception:  # noqa: BLE001 (every fault of a test is that test's failure)
                failed += 1
                seconds = time.monotonic() - begun
                print(f"{name} FAILED after {seconds:.1f} s: {first_sentence(test)}")
                print(indented(traceback.format_exc()), flush=True)
                recover(context)
                continue
            passed += 1
            seconds = time.monotonic() - begun
            print(f"{name} ok {seconds:5.1f} s  {title(test)}", flush=True)
            if deviation:
                deviations.append(f"{name}: {deviation}")
                print(f"        ours: {deviation}", flush=True)
    finally:
        context.close()
    seconds = time.monotonic() - started
    print(f"\nSummary after {seconds:.0f} s: {len(deviations)} deviate on purpose, {skipped} skipped")
    for deviation in deviations:
        print(f"  {deviation}")
    print(f"{passed} passed, {failed} failed")
    return failed


def recover(context: Context) -> None:
    """After a failure: what cannot be tidied is said, and the next test begins anyway."""
    try:
        context.tidy()
    except Exception:  # noqa: BLE001 (the failure itself was reported)
        print(indented(traceback.format_exc()), flush=True)


def indented(text: str) -> str:
    """Text below a test's line."""
    return "".join(f"    | {line}\n" for line in text.rstrip().splitlines()).rstrip()


def main() -> int:
    """Reads the arguments and runs what they choose."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", nargs="?", default="", help="only tests whose title contains this")
    parser.add_argument("--row", action="append", default=[], metavar="NAME", help="only tests whose name begins so")
    parser.add_argument("--list", action="store_true", help="name the tests and what they expect")
    arguments = parser.parse_args()
    tests = chosen(arguments.row, arguments.part)
    if arguments.list:
        for name, test in tests.items():
            print(f"{name}  {first_sentence(test)}")
        return 0
    return 1 if run(tests) else 0


if __name__ == "__main__":
    sys.exit(main())
