"""Parsing of pages: a parser that misses a step or a difference would make every page worthless."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from page import Command, File, Log, Need, PageError, Step, shows, steps


def read(text: str) -> list[Step]:
    """Returns the steps of a page with this text."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.md")
        page.write_text(text)
        return steps(page)


class Pages(unittest.TestCase):
    """Tests which steps a page has."""

    def test_blocks_are_steps_in_their_order(self) -> None:
        found = read(
            "# Title\n<!-- tests/tutorials: one two -->\n\nSave `b` as `a.php`:\n\n```php\n<?php\n\necho 1;\n```\n"
            "```console\n$ cat <<END\n> text\n> END\ntext\n$ true\n```\n```log\nended …\n```\n"
        )
        self.assertEqual(
            found,
            [
                Need(2, ("one", "two")),
                File(7, "a.php", "<?php\n\necho 1;\n"),
                Command(12, "cat <<END\ntext\nEND", ("text",)),
                Command(16, "true", ()),
                Log(19, ("ended …",)),
            ],
        )

    def test_blocks_that_are_no_step_are_errors(self) -> None:
        command = "```console\n$ true\n```\n"
        for wrong in ("no name:\n```php\n```\n", "`name` without a colon\n```php\n```\n", "```console\ntrue\n```\n"):
            with self.subTest(wrong), self.assertRaises(PageError):
                read(wrong + command)
        with self.assertRaises(PageError):
            read("a page without commands")

    def test_servers_are_recognised(self) -> None:
        for text in (
            "howdah",
            "howdah run",
            "APP_ENV=prod A=b howdah run --lenient",
            "howdah php-server -r public",
            "php artisan octane:start",
        ):
            self.assertTrue(Command(1, text, ()).serves, text)
        for text in ("howdah init", "howdah runs", "howdah start", "echo howdah run", "howdah reload"):
            self.assertFalse(Command(1, text, ()).serves, text)


class Output(unittest.TestCase):
    """Tests what counts as the same output."""

    def test_text_is_exact(self) -> None:
        self.assertTrue(shows(["a (1)", "b"], "a (1)\nb\n"))
        for other in ("a (1)\n", "a (1)\nb\nc\n", "a (1)\n\nb\n", "a 1\nb\n", "xa (1)\nb\n"):
            self.assertFalse(shows(["a (1)", "b"], other), other)

    def test_an_ellipsis_is_any_text_of_a_line(self) -> None:
        self.assertTrue(shows(["from …, 1"], "from 77, 1\n"))
        self.assertFalse(shows(["from …, 1"], "from 77, 2\n"))
        self.assertFalse(shows(["from …"], "from 77\nmore\n"))

    def test_an_ellipsis_alone_is_any_lines(self) -> None:
        for printed in ("a\nb\n", "a\nx\ny\nb\n"):
            self.assertTrue(shows(["a", "…", "b"], printed))
        self.assertFalse(shows(["a", "…", "b"], "a\nx\n"))

    def test_anywhere_is_among_other_lines(self) -> None:
        self.assertTrue(shows(["b", "c"], "a\nb\nc\nd\n", anywhere=True))
        self.assertFalse(shows(["b", "c"], "a\nb\nx\nc\n", anywhere=True))
        self.assertFalse(shows(["b"], "ab\n", anywhere=True))


if __name__ == "__main__":
    unittest.main()
