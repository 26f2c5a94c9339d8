"""Compares the responses of two servers on the same walk."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .client import Answer, digest


@dataclass(frozen=True)
class Rule:
    """A value that differs between runs: the pattern, its replacement, and why it differs."""

    pattern: str
    replacement: str
    reason: str


@dataclass(frozen=True)
class Allowed:
    """An accepted difference: the step (a pattern), the header field or `body`, and why."""

    step: str
    what: str
    reason: str


# Headers that belong to the server and not to the application. For files that the server sends by
# itself only status, type and bytes count: validators are the server's own affair.
SERVER_HEADERS = {
    "accept-ranges": "the server's own",
    "alt-svc": "the server's own",
    "connection": "hop by hop",
    "content-length": "how the body is framed is the server's affair; the bytes are compared",
    "date": "the clock",
    "keep-alive": "hop by hop",
    "server": "the server's name",
    "server-timing": "the clock",
    "transfer-encoding": "how the body is framed is the server's affair",
    "x-accel-buffering": "nginx obeys it and takes it out",
    "x-request-id": "random",
}
FILE_HEADERS = ("content-type",)

COMMON_RULES = (
    Rule(r"\b20\d\d[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(:\d\d)?", "DATE", "the clock"),
    Rule(r"\b(fpm-fcgi|howdah)\b", "SAPI", "PHP_SAPI tells the server's name"),
    Rule(r"\b\d{1,2}:\d\d(:\d\d)?\b( ?[AP]M)?", "TIME", "the clock"),
    Rule(r"(?i)\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d[ -]\w{3}[ -]\d{2,4} TIME GMT", "DATE", "the clock"),
    Rule(r"\b20\d\d[-/]\d\d[-/]\d\d", "DATE", "the clock"),
    Rule(r"\b1[6-9]\d{8}\b", "UNIXTIME", "the clock"),
)


@dataclass(frozen=True)
class Difference:
    """A step with different responses, and both of them."""

    step: str
    what: str
    detail: str


def differences(
    expected: Sequence[Answer], got: Sequence[Answer], rules: Sequence[Rule], allowed: Sequence[Allowed]
) -> list[Difference]:
    """Returns the differences between two transcripts, except for the allowed ones."""
    found: list[Difference] = []
    for one, other in zip(expected, got, strict=False):
        found += _answers(one, other, rules)
    if len(expected) != len(got):
        found.append(Difference("the whole walk", "length", f"{len(expected)} answers against {len(got)}"))
    return [
        difference
        for difference in found
        if not any(re.fullmatch(a.step, difference.step) and a.what == difference.what for a in allowed)
    ]


def _answers(one: Answer, other: Answer, rules: Sequence[Rule]) -> list[Difference]:
    if one.status != other.status:
        return [Difference(one.step, "status", f"{one.status} against {other.status}")]
    found: list[Difference] = []
    by_server = _is_file(one)
    ours, theirs = _headers(one, rules, by_server), _headers(other, rules, by_server)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            found.append(Difference(one.step, name, f"{ours.get(name)} against {theirs.get(name)}"))
    if _is_text(one):
        lines = (_lines(normalised(one.text, rules)), _lines(normalised(other.text, rules)))
        if lines[0] != lines[1]:
            diff = [line for line in difflib.unified_diff(*lines, "php-fpm", "subject", lineterm="", n=0)]
            found.append(Difference(one.step, "body", "\n".join(line[:300] for line in diff[:30])))
    elif one.body != other.body:
        detail = f"{len(one.body)} bytes {digest(one.body)} against {len(other.body)} bytes {digest(other.body)}"
        found.append(Difference(one.step, "body", detail))
    return found


def _lines(text: str) -> list[str]:
    """Splits into one tag or one JSON member per line, so that a difference in a long line is visible."""
    return re.sub(r'(?=<)|(?<=,)(?=")', "\n", text).splitlines()


def normalised(text: str, rules: Sequence[Rule]) -> str:
    """Removes everything from the text that differs between runs."""
    for rule in (*COMMON_RULES, *rules):
        text = re.sub(rule.pattern, rule.replacement, text)
    return text


def _is_file(answer: Answer) -> bool:
    """Whether nginx itself sent a file: its validators have a form that no application here uses."""
    etag = answer.header("ETag")
    return answer.header("Accept-Ranges") == "bytes" and bool(re.fullmatch(r'"[0-9a-f]+-[0-9a-f]+"', etag))


def _headers(answer: Answer, rules: Sequence[Rule], by_server: bool) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for key, value in answer.headers:
        name = key.lower()
        if name in SERVER_HEADERS or (by_server and name not in FILE_HEADERS):
            continue
        headers.setdefault(name, []).append(_header(name, value, rules))
    return {name: sorted(values) for name, values in headers.items()}


def _header(name: str, value: str, rules: Sequence[Rule]) -> str:
    value = normalised(value, rules)
    if name == "set-cookie":
        pair, semicolon, attributes = value.partition(";")
        cookie, _, content = pair.partition("=")
        # The value of a cookie is random. Whether it has one, its lifetime and its path are not.
        value = f"{cookie}={'' if content in ('', 'deleted') else 'VALUE'}{semicolon}{attributes}"
        value = re.sub(r"(?i)expires=[^;]*", "expires=DATE", value)
    if name in ("content-type",):
        value = re.sub(r"\s*;\s*", "; ", value).lower()
        # The same type under its old and its new name (RFC 9239), and nginx gives its own files no charset.
        value = value.replace("application/javascript", "text/javascript").replace("; charset=utf-8", "")
    return value


def _is_text(answer: Answer) -> bool:
    kind = answer.header("Content-Type").lower()
    return kind.startswith("text/") or any(word in kind for word in ("json", "xml", "javascript")) or kind == ""
