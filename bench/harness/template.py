"""Fills `{{name}}` in configuration templates; nginx and Caddy use all other notations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bench.harness.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import Mapping

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def fill(text: str, values: Mapping[str, str], where: str) -> str:
    """Replaces every placeholder.

    Raises:
        BenchError: a name has no value; `where` names the file.
    """

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in values:
            raise BenchError(f"{where}: no value for {{{{{name}}}}}")
        return values[name]

    return PLACEHOLDER.sub(value, text)
