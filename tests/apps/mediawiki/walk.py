"""MediaWiki: PATH_INFO, load.php, api.php, rest.php, uploads with thumbnails."""

from __future__ import annotations

from harness.client import Browser, Upload
from harness.compare import Allowed, Rule
from harness.pictures import png

RULES = (
    Rule(r"fromFormatted=\d\d%3A\d\d%2C\+\d+\+\w+\+20\d\d", "CLOCK", "the clock"),
    Rule(r'"wgRequestId":"[^"]*"', "REQUESTID", "random"),
    Rule(r'"wgBackendResponseTime":\d+', "MILLISECONDS", "the clock"),
    Rule(r"\b[0-9a-f]{32,40}\+\\*", "TOKEN", "random"),
    Rule(r'value="[0-9a-f]{32,40}\+?\\*"|value="\+\\"', "TOKEN", "random"),
    Rule(r"\b20\d{12}\b", "TIMESTAMP", "the clock"),
    Rule(r"\b\d+ (January|February|March|April|May|June|July|August|September|October|November|December) 20\d\d",
         "DAY", "the clock"),
    Rule(r"\b\d\.\d{3} seconds", "SECONDS", "the clock"),
    Rule(r"(?m)^(CPU|Real) time usage: .*$|^Saved in parser cache.*$|^Cached time: .*$", "TIME", "the clock"),
    Rule(r"(?m)^\s*[\d.]+%\s+[\d.]+\s+\d+ .*$", "PROFILE", "the clock"),
    Rule(r'"(walltime|cputime|ppvisitednodes|timestamp|origin|cachereport|transientcontent|ttl)":"?[^,}]*', "REPORT",
         "the clock"),
    Rule(r"\?[0-9a-f]{5}\b|version=\w{5}", "VERSION", "hash of files with their times"),
    Rule(r'"\w+@?[\w.-]*","[0-9a-z]{5}"', "MODULE", "hash of files with their times"),
)  # fmt: skip

ALLOWED = (
    Allowed(r"startup module", "body", "lists hashes of files with their times of change"),
    Allowed(r"startup module", "etag", "made from the body"),
    Allowed(r"login", "set-cookie", "cookies are sent a second time if the clock ticks between; what follows needs them"),
)


def walk(b: Browser) -> None:
    b.follow(b.get("front page", "/").expect(301)).expect(200, "Elephant wiki", "MediaWiki has been installed")
    b.get("style", "/load.php?lang=en&modules=site.styles%7Cskins.vector.styles.legacy&only=styles&skin=vector")
    b.transcript[-1].expect(200)
    b.get("startup module", "/load.php?lang=en&modules=startup&only=scripts&raw=1&skin=vector").expect(200, "mw.loader")
    b.get("missing page", "/index.php/No_such_page").expect(404, "There is currently no text in this page")
    b.get("special page", "/index.php/Special:Version").expect(200, "Installed software")
    b.get("rest", "/rest.php/v1/page/Main_Page/bare").expect(200, '"title":"Main Page"')
    b.get("rest, missing", "/rest.php/v1/page/Nothing/bare").expect(404)
    b.get("api", "/api.php?action=query&meta=siteinfo&format=json").expect(200, "Elephant wiki")

    login = b.get("login form", "/index.php?title=Special:UserLogin").expect(200).form("userlogin")
    fields = {**login.fields, "wpName": "Admin", "wpPassword": "no"}
    again = (
        b.post("wrong password", login.action, fields).expect(200, "Incorrect username or password").form("userlogin")
    )
    done = b.post("login", again.action, {**again.fields, "wpName": "Admin", "wpPassword": "wiki-secret-1"})
    b.follow(done).expect(200, '"wgUserName":"Admin"', "Log out")

    edit = b.get("edit", "/index.php?title=Caravan_%C3%9C&action=edit").expect(200).form("editform")
    fields = {**edit.fields, "wpTextbox1": "'''Seven''' riders & [[Main Page|one]] elephant: Ü.", "wpSummary": "first"}
    b.post("preview", edit.action, {**fields, "wpPreview": "1"}, {}).expect(200, "<b>Seven</b>")
    saved = b.post("save", edit.action, {**fields, "wpSave": "1"}, {}).expect(302)
    b.follow(saved).expect(200, "<b>Seven</b> riders &amp;")
    b.get("history", "/index.php?title=Caravan_%C3%9C&action=history").expect(200, "first")
    b.get("raw", "/index.php?title=Caravan_%C3%9C&action=raw").expect(200, "'''Seven'''")
    b.get("search", "/index.php?title=Special:Search&search=elephant&fulltext=1").expect(200, "Search results")
    b.get("recent changes", "/index.php/Special:RecentChanges").expect(200, "Caravan Ü")

    upload = b.get("upload form", "/index.php/Special:Upload").expect(200).form("wpUploadFile")
    done = b.post("upload", upload.action,
                  {**upload.fields, "wpDestFile": "Ramp.png", "wpUploadDescription": "A ramp", "wpUpload": "1"},
                  {"wpUploadFile": Upload("ramp.png", png(400, 300))}).expect(302)  # fmt: skip
    b.follow(done).expect(200, "A ramp", "400 × 300 pixels")

    out = b.get("log out form", "/index.php?title=Special:UserLogout").expect(200).form("wpEditToken")
    b.post("log out", out.action, out.fields).expect(200, "You are now logged out", '"wgUserName":null')
