"""How concurrent requests use an extension: read from the list of `howdah doctor`.

A test of `crates/howdah` compares that list with the one that the PHP process goes by.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LIST = "crates/howdah/src/doctor/extensions.rs"
# The text in a table for a working extension, by its kind.
WORDS = {
    "Good": "works",
    "Pooled": "works, a connection for each request",
    "Locked": "works with a lock on a shared handle",
    "Blocking": "works, blocks other requests",
    "Mixing": "works with a lock on the extension, but mixes requests in a profile",
    "Unfit": "works in this trial, but doctor reports an error",
}
UNKNOWN = "works with a lock on the extension"


def kinds(repository: Path) -> dict[str, str]:
    """Returns kinds by the names of extensions, in lower case."""
    text = (repository / LIST).read_text()
    table = text.partition("const KNOWN")[2].partition("\nfn ")[0]
    found = {}
    for kind, names in re.findall(r"Kind::(\w+),\s*&\[(.*?)\]", table, re.DOTALL):
        found.update(dict.fromkeys(re.findall(r'"([^"]+)"', names), kind))
    if set(found.values()) != set(WORDS):
        message = f"{LIST} has other kinds than {', '.join(WORDS)}"
        raise ValueError(message)
    return found
