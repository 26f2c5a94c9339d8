"""A small browser: one connection per request, cookies, forms. It records every response."""

from __future__ import annotations

import hashlib
import http.client
import mimetypes
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin, urlsplit

# Seconds for one response: MediaWiki's first page, on a busy machine with two cores.
TIMEOUT_SECONDS = 120


class WalkError(Exception):
    """The application did not behave as a walk expects."""


@dataclass(frozen=True)
class Answer:
    """A response as received."""

    step: str
    url: str
    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    @property
    def text(self) -> str:
        """Returns the body as UTF-8."""
        return self.body.decode("utf-8", "replace")

    def header(self, name: str) -> str:
        """Returns all values of a header field, joined; empty if it is missing."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        return ", ".join(values)

    def expect(self, status: int, *texts: str) -> Answer:
        """Fails unless the status is this one and the body contains all the texts."""
        if self.status != status:
            raise WalkError(
                f"{self.step}: expected status {status}, got {self.status} from {self.url}\n{self._excerpt()}"
            )
        for text in texts:
            if text not in self.text:
                raise WalkError(f"{self.step}: {text!r} is not in the page {self.url}\n{self._excerpt()}")
        return self

    def without(self, *texts: str) -> Answer:
        """Fails if the body contains one of the texts."""
        for text in texts:
            if text in self.text:
                raise WalkError(f"{self.step}: {text!r} is in the page {self.url}")
        return self

    def form(self, mark: str) -> Form:
        """Returns the first form whose action, id, name or field names contain the mark."""
        parser = _Forms()
        parser.feed(self.text)
        for form in parser.forms:
            if any(mark in text for text in (form.action, form.identity, *form.fields, *form.empty)):
                return form
        raise WalkError(f"{self.step}: no form with {mark!r} in the page {self.url}")

    def _excerpt(self) -> str:
        words = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>|\s+", " ", self.text)
        return re.sub(r"\s+", " ", words)[:600]


@dataclass
class Form:
    """A form with the values that a browser would send without user input."""

    action: str = ""
    identity: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._open: Form | None = None
        self._select: str | None = None
        self._option = False
        self._area: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attrs}
        if tag == "form":
            identity = f"{values.get('id', '')} {values.get('name', '')} {values.get('class', '')}"
            self._open = Form(action=values.get("action", ""), identity=identity)
            self.forms.append(self._open)
            return
        name = values.get("name", "")
        if self._open is None:
            return
        if tag == "input" and name:
            kind = values.get("type", "text").lower()
            if kind in ("submit", "button", "image", "file") or (
                kind in ("checkbox", "radio") and "checked" not in values
            ):
                self._open.empty.add(name)
            else:
                self._open.fields[name] = values.get("value", "on" if kind == "checkbox" else "")
        elif tag == "select" and name:
            self._select = name
        elif tag == "option" and self._select is not None:
            self._option = "selected" in values or self._select not in self._open.fields
            if self._option:
                self._open.fields[self._select] = values.get("value", "")
            # Without a value, the text of the option is sent.
            self._option = self._option and "value" not in values
        elif tag == "textarea" and name:
            self._area = name
            self._open.fields[name] = ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        if self._option and self._select is not None and self._open is not None:
            self._open.fields[self._select] += data.strip()
        if self._area is not None and self._open is not None:
            self._open.fields[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        elif tag in ("option", "select"):
            self._option = False
            self._select = None if tag == "select" else self._select
        elif tag == "textarea":
            self._area = None


@dataclass(frozen=True)
class Upload:
    """A file as sent by a form."""

    name: str
    body: bytes


class Browser:
    """Walks through one application at one server and stores the transcript."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.cookies: dict[str, str] = {}
        self.transcript: list[Answer] = []

    def get(self, step: str, url: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Requests a page."""
        return self.request(step, "GET", url, None, dict(headers or {}))

    def head(self, step: str, url: str) -> Answer:
        """Requests the header of a page."""
        return self.request(step, "HEAD", url, None, {})

    def post(
        self, step: str, url: str, fields: Mapping[str, str], uploads: Mapping[str, Upload] | None = None
    ) -> Answer:
        """Sends a form, as multipart when there are uploads (an empty mapping too)."""
        if uploads is None:
            body = urlencode(fields).encode()
            kind = "application/x-www-form-urlencoded"
        else:
            body, kind = _multipart(fields, uploads)
        return self.request(step, "POST", url, body, {"Content-Type": kind})

    def follow(self, answer: Answer) -> Answer:
        """Follows a redirect; fails if the response is not a redirect."""
        place = answer.header("Location")
        if answer.status not in (301, 302, 303, 307) or not place:
            raise WalkError(f"{answer.step}: expected a redirect, got {answer.status}\n{answer._excerpt()}")
        return self.get(f"{answer.step}, followed", urljoin(answer.url, place))

    def request(self, step: str, method: str, url: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        """Sends any request; the response is added to the transcript."""
        whole = urljoin(self.base + "/", url)
        parts = urlsplit(whole)
        if f"{parts.scheme}://{parts.netloc}" != self.base:
            raise WalkError(f"{step}: the page leads away from the server, to {whole}")
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers.setdefault("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
        headers.setdefault("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
        headers.setdefault("Accept-Language", "en")
        headers.setdefault("Origin" if method == "POST" else "Referer", self.base)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, target, body, headers)
            raw = connection.getresponse()
            answer = Answer(step, whole, raw.status, raw.getheaders(), raw.read())
        except (OSError, http.client.HTTPException) as error:
            raise WalkError(f"{step}: no whole answer from {whole}: {error!r}") from error
        finally:
            connection.close()
        self._keep_cookies(answer)
        self.transcript.append(answer)
        return answer

    def _keep_cookies(self, answer: Answer) -> None:
        for key, value in answer.headers:
            if key.lower() != "set-cookie":
                continue
            pair, _, attributes = value.partition(";")
            name, _, content = pair.partition("=")
            ended = re.search(r"(?i)max-age=(0|-\d+)\b|expires=[^;]*\b(1970|1999|20(0\d|1\d|2[0-4]))\b", attributes)
            if ended or content in ("", "deleted"):
                self.cookies.pop(name.strip(), None)
            else:
                self.cookies[name.strip()] = content


def _multipart(fields: Mapping[str, str], uploads: Mapping[str, Upload]) -> tuple[bytes, str]:
    boundary = f"----walk{secrets.token_hex(12)}"
    parts: list[bytes] = []
    for name, value in fields.items():
        parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode())
    for name, upload in uploads.items():
        kind = mimetypes.guess_type(upload.name)[0] or "application/octet-stream"
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{upload.name}"\r\n'
        parts.append(f"{head}Content-Type: {kind}\r\n\r\n".encode() + upload.body + b"\r\n")
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"


def digest(body: bytes) -> str:
    """Returns a short name for a body that is not text."""
    return hashlib.sha256(body).hexdigest()[:16]
