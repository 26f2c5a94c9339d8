"""Adminer: one file, its own sessions and tokens, file export."""

from __future__ import annotations

import re
from urllib.parse import quote

from harness.client import Browser
from harness.compare import Rule

RULES = (
    Rule(r'name="token" value="[\d:]+"', "TOKEN", "random"),
    Rule(r'nonce="[^"]*"|\'nonce-[^\']*\'', "NONCE", "random"),
    Rule(r"\(\d+\.\d{3} s\)|\b\d\.\d{3} s\b", "SECONDS", "the clock"),
    Rule(r"verifyVersion\([^)]*\)", "VERSION", "holds a token"),
    Rule(r'"\d+:\d+"|\'\d+:\d+\'', "TOKEN", "random"),
)


def walk(b: Browser) -> None:
    front = b.get("front page", "/").expect(200, "Login", "Adminer")
    for step, file, text in (("script", "functions.js", "function"), ("style", "default.css", "background")):
        link = re.search(rf"\?file={re.escape(file)}[^\"']*", front.text)
        assert link, f"no {step} in the front page"
        b.get(step, "/" + link.group(0).replace("&amp;", "&")).expect(200, text)
    login = front.form("auth[driver]")
    # The path that setup.sh has configured, relative to the folder of index.php.
    database = "../data.db"
    fields = {**login.fields, "auth[driver]": "sqlite", "auth[server]": "", "auth[username]": "asha",
              "auth[db]": database}  # fmt: skip
    b.post("wrong password", "/", {**fields, "auth[password]": "no"})
    denied = b.follow(b.transcript[-1]) if b.transcript[-1].status == 302 else b.transcript[-1]
    denied.expect(403)
    done = b.post("login", "/", {**fields, "auth[password]": "elephant"}).expect(302)
    b.follow(done).expect(200, "riders")
    base = f"/?sqlite=&username=asha&db={quote(database, safe='')}"
    b.get("table", f"{base}&table=riders").expect(200, "seat")
    b.get("select", f"{base}&select=riders").expect(200, "Mira", "Harun")
    edit = b.get("edit form", f"{base}&edit=riders").expect(200).form("fields[name]")
    saved = b.post("insert", f"{base}&edit=riders", {**edit.fields, "fields[name]": "Tomas & Söhne",
                   "fields[seat]": "4", "function[id]": "NULL", "fields[id]": ""}, {})  # fmt: skip
    b.follow(saved).expect(200, "Tomas &amp; Söhne")
    sql = b.get("sql form", f"{base}&sql=").expect(200).form("query")
    query = {**sql.fields, "query": "SELECT name FROM riders ORDER BY seat DESC", "limit": ""}
    b.post("sql", f"{base}&sql=", query, {}).expect(200, "Tomas &amp; Söhne", "Leela")
    b.post("sql with a mistake", f"{base}&sql=", {**query, "query": "SELEC"}, {}).expect(200, "syntax error")
    dump = b.get("export form", f"{base}&dump=").expect(200).form("output")
    b.post("export", f"{base}&dump=", {**dump.fields, "output": "file", "format": "sql", "tables[]": "riders",
           "data[]": "riders"}).expect(200, "CREATE TABLE")  # fmt: skip
    b.get("missing table", f"{base}&table=nothing").expect(200, "Table: nothing")
    again = b.get("before the end", base).expect(200).form("logout")
    out = b.post("log out", base, {**again.fields, "logout": "Logout"}).expect(302)
    b.follow(out).expect(200, "Login")
