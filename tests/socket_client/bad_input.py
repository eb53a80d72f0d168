"""Everything that no honest requester sends and no careful person leaves lying around, by number."""

from __future__ import annotations

import re

import bad_documents
import bad_frames
import bad_load
from context import Row

_NAME = re.compile(r"(b\d{2})_\w+")

#: Tests by number.
BAD_INPUT: dict[str, Row] = {
    match[1].upper(): test
    for module in (bad_frames, bad_load, bad_documents)
    for name, test in vars(module).items()
    if (match := _NAME.fullmatch(name))
}
