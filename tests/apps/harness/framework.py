"""One walk for all frameworks: their applications have the same pages, each written in the framework's style."""

from __future__ import annotations

import hashlib
import json

from .client import Browser, Upload
from .compare import Rule
from .pictures import png

RULES = (
    Rule(r'name="_token" value="[^"]*"', "TOKEN", "random"),
    Rule(r"\bMax-Age=7(199|200)\b", "Max-Age=2 HOURS", "the clock may tick between setting and sending"),
)


def walk(b: Browser, name: str) -> None:
    """Walks through the application of the framework with this name."""
    b.get("front page", "/").expect(200, f"Hello from {name}", "Nobody is logged in").without("<li>")
    b.get("static file", "/hello.txt").expect(200, "A file beside the front controller.")
    b.get("missing", "/nothing/here").expect(404)
    b.post("wrong method", "/json", {"a": "b"}).expect(405)
    b.head("head", "/").expect(200)

    echo = b.get("json", "/json?a=1&b%5B%5D=x%20y&b%5B%5D=%C3%BC").expect(200)
    said = json.loads(echo.text)
    expected = {"method": "GET", "path": "/json", "query": {"a": "1", "b": ["x y", "ü"]}, "body": None, "secure": False}
    assert said == expected, f"the request arrived as {said}"
    put = b.request("put", "PUT", "/json", b'{"deep":{"list":[1,2,3]}}', {"Content-Type": "application/json"}).expect(
        200
    )
    said = json.loads(put.text)
    assert said["method"] == "PUT" and said["body"] == {"deep": {"list": [1, 2, 3]}}, f"the body arrived as {said}"
    b.get("path with a dot and umlauts", "/hello/J%C3%BCrgen%20O.%2BK").expect(200, "Hello, Jürgen O.+K!")

    form = b.get("login form", "/login").expect(200).form("/login")
    b.post("wrong password", "/login", {**form.fields, "name": "asha", "password": "no"}).expect(422, "Wrong password")
    b.post("forged", "/login", {"name": "asha", "password": "howdah", "_token": "x"}).expect(419)
    done = b.post("login", "/login", {**form.fields, "name": "asha", "password": "howdah"}).expect(302)
    page = b.follow(done).expect(200, "asha is logged in")

    picture = png(200, 150)
    token = page.form("/notes").fields
    done = b.post("note", "/notes", {**token, "text": "Salt & <tea>"}, {"file": Upload("rämp.png", picture)}).expect(
        302
    )
    facts = f"{len(picture)} bytes, {hashlib.sha256(picture).hexdigest()}"
    b.follow(done).expect(200, "Salt &amp; &lt;tea&gt;", facts)
    done = b.post("note without a file", "/notes", {**token, "text": "x" * 100_000}, {}).expect(302)
    b.follow(done).expect(200, "x" * 1000)
    shown = b.get("download", "/download/1").expect(200)
    assert shown.body == picture, "the file came back changed"

    b.get("cookies", "/cookies").expect(200)
    b.get("stream", "/stream").expect(200, "part 1\npart 2\npart 3\n")
    b.get("exception", "/throw").expect(500)
    out = b.get("after the exception", "/").expect(200, "asha is logged in").form("/logout")
    b.follow(b.post("log out", "/logout", out.fields).expect(302)).expect(200, "Nobody is logged in")
