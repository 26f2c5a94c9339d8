"""Writes the tables and charts of the pages in docs from published runs.

A page has a table between two lines, `<!-- figures: NAME -->` and `<!-- end of figures -->`; a
chart is a file docs/images/NAME.svg.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bench.harness.bar_chart import svg
from bench.harness.errors import BenchError
from bench.harness.page_runs import ALL
from bench.harness.page_tables import CHARTS, TABLES
from bench.harness.peers import REPOSITORY
from bench.harness.publish import PAGE, RESULTS, page_text

if TYPE_CHECKING:
    from pathlib import Path

PAGES = ("README.md", "docs/performance.md", "docs/internals/performance.md")
IMAGES = "docs/images"
END = "<!-- end of figures -->"
BLOCK = re.compile(rf"<!-- figures: (?P<name>[a-z-]+) -->\n(?:.*?\n)??{END}", re.DOTALL)


def filled(text: str) -> str:
    """Returns a page with the tables of the published runs.

    Raises:
        BenchError: the page names a table that does not exist.
    """

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in TABLES:
            raise BenchError(f"no table {name}; there are: {', '.join(TABLES)}")
        return "\n".join([f"<!-- figures: {name} -->", *TABLES[name](), END])

    return BLOCK.sub(block, text)


def outputs(root: Path = REPOSITORY) -> dict[Path, str]:
    """Returns the expected content of each file."""
    found = {root / name: filled((root / name).read_text()) for name in PAGES}
    page = root / PAGE.relative_to(REPOSITORY)
    found[page] = page_text(RESULTS / ALL, REPOSITORY)
    charts = {root / IMAGES / f"{name}.svg": svg(make()) for name, make in CHARTS.items()}
    return found | charts


def write_pages(root: Path = REPOSITORY) -> list[Path]:
    """Writes changed files and returns them."""
    changed = []
    for path, text in outputs(root).items():
        if not path.is_file() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            changed.append(path)
    return changed
