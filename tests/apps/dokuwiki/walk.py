"""DokuWiki: flat files, several entry points, XML-RPC style Ajax, media upload."""

from __future__ import annotations

from harness.client import Browser, Upload
from harness.compare import Allowed, Rule
from harness.pictures import png

RULES = (
    Rule(r'name="sectok" value="[0-9a-f]*"', "SECTOK", "random"),
    Rule(r'"?sectok"?[=:]"?[0-9a-f]{32}"?', "SECTOK", "random"),
    Rule(r"\btseed=[0-9a-f]{32}\b", "TSEED", "depends on the clock"),
    Rule(r"\btok=[0-9a-f]{6}\b", "TOK", "random secret of the wiki, made on the first use"),
)

ALLOWED = (
    Allowed("style|script|uploaded", "etag", "made from the time at which a file was written in this run"),
    Allowed("style|script|uploaded", "last-modified", "the time at which a file was written in this run"),
)


def walk(b: Browser) -> None:
    b.follow(b.get("front page", "/").expect(302)).expect(200, "Elephant wiki")
    b.get("style", "/lib/exe/css.php?t=dokuwiki").expect(200, "font-family")
    b.get("script", "/lib/exe/js.php?t=dokuwiki").expect(200, "jQuery")
    b.get("image", "/lib/images/license/button/cc-by.png").expect(200)
    b.get("missing page", "/doku.php?id=no:such:page").expect(404, "This topic does not exist yet")
    b.get("missing file", "/lib/exe/fetch.php?media=nothing.png").expect(404)

    login = b.get("login form", "/doku.php?id=start&do=login").expect(200).form("dw__login")
    b.post("wrong password", login.action, {**login.fields, "u": "admin", "p": "no"}).expect(
        403, "username or password"
    )
    done = b.post("login", login.action, {**login.fields, "u": "admin", "p": "wiki-secret"})
    page = b.follow(done) if done.status in (301, 302, 303) else done
    page.expect(200, "Ada Admin")

    edit = b.get("edit", "/doku.php?id=caravan&do=edit").expect(200).form("dw__editform")
    text = "====== Caravan ======\n\nSeven //riders//, **one** elephant & an Ünïcode word.\n\n  * salt\n  * tea\n"
    fields = {**edit.fields, "wikitext": text, "summary": "first"}
    b.post("preview", edit.action, {**fields, "do[preview]": "1"}).expect(200, "<em>riders</em>")
    saved = b.post("save", edit.action, {**fields, "do[save]": "1"})
    b.follow(saved).expect(200, "<strong>one</strong>", "Ünïcode")
    b.get("revisions", "/doku.php?id=caravan&do=revisions").expect(200, "first")
    b.get("raw", "/doku.php?id=caravan&do=export_raw").expect(200, "//riders//")
    b.get("search", "/doku.php?id=start&do=search&q=elephant").expect(200, "Search")
    b.get("index", "/doku.php?id=start&do=index").expect(200, "caravan")

    manager = b.get("media", "/lib/exe/mediamanager.php?ns=").expect(200).form("upload")
    picture = png()
    b.post("upload", "/lib/exe/mediamanager.php", {**manager.fields, "mediaid": "ramp.png", "id": "ramp.png"},
           {"upload": Upload("ramp.png", picture)}).expect(200, "ramp.png")  # fmt: skip
    shown = b.get("uploaded", "/lib/exe/fetch.php?media=ramp.png").expect(200)
    assert shown.body == picture, "the picture came back changed"
    b.get("resized", "/lib/exe/detail.php?id=start&media=ramp.png").expect(200, "ramp.png")
    b.get("admin", "/doku.php?id=start&do=admin").expect(200, "Administration")
    out = b.get("log out", f"/doku.php?id=start&do=logout&sectok={manager.fields['sectok']}")
    b.follow(out).expect(200, "Log In").without("Ada Admin")
