"""Tests of the harness: a comparison that misses a difference would make every walk worthless."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness.client import Answer, WalkError
from harness.compare import Allowed, Rule, differences


def answer(body: str = "hello", status: int = 200, **headers: str) -> Answer:
    """Returns an HTML page; header names are written with underscores."""
    listed = [("Content-Type", "text/html"), *((name.replace("_", "-"), value) for name, value in headers.items())]
    return Answer("step", "http://127.0.0.1/", status, listed, body.encode())


def what(one: Answer, other: Answer, rules: tuple[Rule, ...] = (), allowed: tuple[Allowed, ...] = ()) -> list[str]:
    """Returns the differences between two responses."""
    return [difference.what for difference in differences([one], [other], rules, allowed)]


class Comparison(unittest.TestCase):
    """Tests what counts as a difference."""

    def test_equal_answers_do_not_differ(self) -> None:
        self.assertEqual(what(answer(), answer()), [])

    def test_status_header_and_body_differ(self) -> None:
        self.assertEqual(what(answer(), answer(status=500)), ["status"])
        self.assertEqual(what(answer(), answer(X_Frame_Options="DENY")), ["x-frame-options"])
        self.assertEqual(what(answer("a"), answer("b")), ["body"])
        self.assertEqual(what(answer("a"), answer("a ")), ["body"])

    def test_a_missing_answer_differs(self) -> None:
        found = differences([answer(), answer()], [answer()], (), ())
        self.assertEqual([difference.what for difference in found], ["length"])

    def test_the_clock_does_not_differ(self) -> None:
        self.assertEqual(what(answer("at 2026-03-01T10:00:00Z"), answer("at 2026-03-01T10:00:07Z")), [])

    def test_a_cookie_may_have_another_value_and_nothing_else(self) -> None:
        one = answer(Set_Cookie="s=1; path=/; HttpOnly")
        self.assertEqual(what(one, answer(Set_Cookie="s=2; path=/; HttpOnly")), [])
        self.assertEqual(what(one, answer(Set_Cookie="s=2; path=/")), ["set-cookie"])
        self.assertEqual(what(one, answer(Set_Cookie="s=; path=/; HttpOnly")), ["set-cookie"])

    def test_rules_and_allowances_cover_only_what_they_name(self) -> None:
        rule = Rule(r"token=\w+", "TOKEN", "random")
        self.assertEqual(what(answer("token=a x"), answer("token=b x"), (rule,)), [])
        self.assertEqual(what(answer("token=a x"), answer("token=b y"), (rule,)), ["body"])
        allowed = Allowed("step", "etag", "made from the clock")
        self.assertEqual(what(answer(ETag="1"), answer("b", ETag="2"), (), (allowed,)), ["body"])


class Pages(unittest.TestCase):
    """Tests what the browser reads from a page."""

    def test_a_form_has_what_a_browser_would_send(self) -> None:
        page = answer(
            '<form action="/x" id="f"><input name="a" value="1"><input type="checkbox" name="b">'
            '<input type="checkbox" name="c" checked><input type="submit" name="d" value="go">'
            '<select name="e"><option>one<option selected>two</select><textarea name="g">text</textarea></form>'
        )
        form = page.form("/x")
        self.assertEqual(form.fields, {"a": "1", "c": "on", "e": "two", "g": "text"})

    def test_expectations_fail(self) -> None:
        with self.assertRaises(WalkError):
            answer().expect(404)
        with self.assertRaises(WalkError):
            answer().expect(200, "absent")
        with self.assertRaises(WalkError):
            answer().without("hello")
        with self.assertRaises(WalkError):
            answer().form("absent")


if __name__ == "__main__":
    unittest.main()
