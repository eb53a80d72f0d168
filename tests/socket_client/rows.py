"""Every row of the case table, by its number: one function each, its expectation in the docstring."""

from __future__ import annotations

import re
from types import ModuleType

import rows_decision
import rows_path
import rows_socket
from context import Row

_NAME = re.compile(r"([lm]\d{3})_\w+")


def rows_of(module: ModuleType) -> dict[str, Row]:
    """The rows that a module defines, in its order."""
    found = ((_NAME.fullmatch(name), value) for name, value in vars(module).items())
    return {match[1].upper(): value for match, value in found if match}


#: Rows by number, in the order of the table.
ROWS: dict[str, Row] = dict(
    sorted({**rows_of(rows_socket), **rows_of(rows_path), **rows_of(rows_decision)}.items())
)
