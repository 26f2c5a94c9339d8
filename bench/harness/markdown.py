"""Tables in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns a Markdown table; the first column is text, the others are figures."""
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(cell_text(cell) for cell in row)} |" for row in rows]
    return [*lines, ""]


def cell_text(text: str) -> str:
    """Returns the text of a cell as one line of Markdown."""
    return text.replace("|", "/").replace("\n", "<br>")
