#!/usr/bin/env python3
"""Builds the documentation as a site: target/docs/site/index.html.

    scripts/docs.py MDBOOK     MDBOOK is the program; `make docs` installs it

The pages are those of docs/SUMMARY.md. They are laid out in target/docs/pages, without the folders of the repository
that mean nothing to a reader. A link to a file that is not on the site leads to the repository. At the end every link
and every anchor of the built pages is checked.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
OUT = ROOT / "target/docs"
BOOK = DOCS / "site/book.toml"
SUMMARY = DOCS / "SUMMARY.md"
# Files that pages show or offer for download, in addition to pages.
ASSETS = {".svg", ".png", ".json"}

FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<text>!?\[[^\]]*\])\((?P<target>[^)\s]*)\)")


def address(file: Path) -> Path:
    """Returns the address of a repository file on the site."""
    if file.is_relative_to(DOCS):
        name = file.relative_to(DOCS)
        # The first page of the site is the README of the repository.
        if name == Path("README.md"):
            return Path("overview.md")
        return name.with_name("index.md") if name.name == "README.md" else name
    name = file.relative_to(ROOT)
    if name == Path("README.md"):
        return Path("index.md")
    if name.name == "README.md":
        return name.parent.with_suffix(".md")
    # Not next to pages of docs: SECURITY.md has a different subject than docs/security.md.
    return Path("project", name.name.lower()) if name.suffix == ".md" else name


def chapters(summary: str) -> dict[Path, Path]:
    """Returns the pages of the site, by their files."""
    found = {}
    for match in LINK.finditer(summary):
        if match["target"]:
            file = (DOCS / match["target"]).resolve()
            found[file] = address(file)
    return found


class Layout:
    """Pages and assets in the folder that mdBook reads."""

    def __init__(self, repository: str) -> None:
        self._repository = repository
        self._pages = OUT / "pages"
        summary = SUMMARY.read_text()
        self._chapters = chapters(summary)
        shutil.rmtree(OUT, ignore_errors=True)
        self._pages.mkdir(parents=True)
        for file in BOOK.parent.iterdir():
            shutil.copy(file, OUT)
        for file, place in self._chapters.items():
            self._write(place, self._with_links(file, file.read_text(), place))
        self._write(Path("SUMMARY.md"), self._with_links(SUMMARY, summary, Path("SUMMARY.md")))

    def _write(self, place: Path, text: str) -> None:
        (self._pages / place).parent.mkdir(parents=True, exist_ok=True)
        (self._pages / place).write_text(text)

    def _with_links(self, file: Path, text: str, place: Path) -> str:
        """Returns the text of a page with the links of the site. Code is unchanged."""
        parts = []
        end = 0
        for fence in FENCE.finditer(text):
            parts += [self._links(file, text[end : fence.start()], place), fence[0]]
            end = fence.end()
        return "".join([*parts, self._links(file, text[end:], place)])

    def _links(self, file: Path, text: str, place: Path) -> str:
        def there(match: re.Match[str]) -> str:
            return f"{match['text']}({self._target(file, match['target'], place)})"

        return LINK.sub(there, text)

    def _target(self, file: Path, target: str, place: Path) -> str:
        path, mark, anchor = target.partition("#")
        if not path or ":" in path:
            return target
        linked = (file.parent / path).resolve()
        if linked.is_dir() and linked / "README.md" in self._chapters:
            linked /= "README.md"
        if linked in self._chapters:
            on_site = self._chapters[linked]
        elif linked.suffix in ASSETS:
            on_site = address(linked)
            (self._pages / on_site).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(linked, self._pages / on_site)
        else:
            kind = "tree" if linked.is_dir() else "blob"
            return f"{self._repository}/{kind}/main/{linked.relative_to(ROOT)}{mark}{anchor}"
        return os.path.relpath(on_site, place.parent) + mark + anchor


class Page(HTMLParser):
    """Anchors and links of a built page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collects the attributes of a tag."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


def broken(site: Path) -> list[str]:
    """Returns the broken links of the built site."""
    pages = {file: Page(file) for file in sorted(site.rglob("*.html")) if file.name != "404.html"}
    problems = []
    for file, page in pages.items():
        for link in sorted(page.links):
            path, _, anchor = unquote(link).partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            target = (file.parent / path).resolve() if path else file
            if target.is_dir():
                target /= "index.html"
            name = file.relative_to(site)
            if not target.exists():
                problems.append(f"{name}: {link} does not exist")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                problems.append(f"{name}: {link} has no such heading")
    return problems


def main() -> int:
    """Builds the site; returns 1 if it has broken links."""
    (mdbook,) = sys.argv[1:]
    settings = tomllib.loads(BOOK.read_text())
    Layout(settings["output"]["html"]["git-repository-url"])
    subprocess.run([mdbook, "build", str(OUT)], check=True, env={**os.environ, "MDBOOK_LOG": "warn"})
    site = OUT / "site"
    problems = broken(site)
    print("\n".join(problems), end="\n" if problems else "")
    if problems:
        return 1
    pages = len(list(site.rglob("*.html")))
    print(f"docs: {pages} pages with sound links: {site}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
