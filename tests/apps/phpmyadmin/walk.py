"""phpMyAdmin: routes in the query, encrypted cookies, Ajax answers, import and export."""

from __future__ import annotations

import re

from harness.client import Answer, Browser, Upload
from harness.compare import Rule

DATABASE = "caravan"

RULES = (
    Rule(r'name="set_session" value="\w+"', "SESSION", "random"),
    Rule(
        r"(sql|where_clause)_signature=[0-9a-f]{64}|\b[0-9a-f]{13}\b",
        "ID",
        "uniqid(), and signatures with the secret of the session",
    ),
    Rule(r'("?token"?(" value=|=|:|%3D)\\?"?)[0-9A-Za-z%\\]{10,}', r"\1TOKEN", "random"),
    Rule(r"(?i)nginx/[\d.]+|howdah/[\w.+-]+ \(like nginx, Caddy\)|howdah", "SERVERSOFTWARE", "the server's name"),
    Rule(r"\b[0-9a-f]{32}\b", "HASH", "random"),
    Rule(r"(?i)\b\d+\.\d{4} seconds|_nocache=\d+\w*|reload_\w+", "NOCACHE", "the clock"),
    Rule(r"(Generation Time: )[^\n\\]*", r"\1DATE", "the clock"),
    Rule(r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d\d, 20\d\d( at TIME)?", "DAY", "the clock"),
    Rule(r"pma_?console\w*|Connection id[^<]*|thread_id\D+\d+|Connection: \d+", "CONNECTION", "a counter"),
    Rule(r"(?<!\d)\d{6,10}(?!\d)|UNIXTIME", "NUMBER", "ids made by rand(), and the clock"),
)


def _token(answer: Answer) -> str:
    found = re.search(r'name="token" value="([^"]+)"', answer.text)
    assert found, f"{answer.step}: no token in the page"
    return found.group(1)


def walk(b: Browser) -> None:
    b.get("style", "/themes/pmahomme/css/theme.css").expect(200)
    # Every page without a login starts a new session: the form must be the last one before the login.
    front = b.get("front page", "/").expect(200, "Welcome to", "Log in")
    login = front.form("pma_username")
    fields = {**login.fields, "pma_username": "asha", "server": "1"}
    b.post("wrong password", "/index.php?route=/", {**fields, "pma_password": "no"})
    again = b.transcript[-1]
    again = b.follow(again) if again.status == 302 else again.expect(200, "Access denied")
    fields = {**again.form("pma_username").fields, "pma_username": "asha", "pma_password": "howdah-secret-1"}
    done = b.post("login", "/index.php?route=/", {**fields, "server": "1"}).expect(302)
    home = b.follow(done).expect(200, "caravan", "Database server")
    token = _token(home)
    b.get("messages", "/js/messages.php?l=en&v=5.2.1").expect(200, "Messages")

    b.get("database", "/index.php?route=/database/structure&db=caravan").expect(200, "riders")
    b.get("browse", "/index.php?route=/sql&db=caravan&table=riders&pos=0").expect(200, "Mira", "Harun")
    b.get("structure", "/index.php?route=/table/structure&db=caravan&table=riders").expect(200, "seat")
    b.get("insert form", "/index.php?route=/table/change&db=caravan&table=riders").expect(200, "varchar(80)")
    query = "INSERT INTO riders (name, seat) VALUES ('Tomas & Söhne', 4)"
    common = {"token": token, "db": "caravan", "table": "riders", "ajax_request": "true", "server": "1"}
    b.post("sql, insert", "/index.php?route=/import", {**common, "sql_query": query, "show_query": "1"}, {})
    b.transcript[-1].expect(200, '"success":true')
    b.post("sql, mistake", "/index.php?route=/sql", {**common, "sql_query": "SELEC name"}).expect(
        200, '"success":false'
    )
    b.get("browse again", "/index.php?route=/sql&db=caravan&table=riders&pos=0").expect(200, "Tomas &amp; Söhne")

    script = b"CREATE TABLE stages (name VARCHAR(40));\nINSERT INTO stages VALUES ('Mandu'), ('Ellora');\n"
    form = b.get("import form", "/index.php?route=/database/import&db=caravan").expect(200).form("import_file_form")
    b.post("import", "/index.php?route=/import", {**form.fields, "format": "sql", "charset_of_file": "utf-8"},
           {"import_file": Upload("stages.sql", script)}).expect(200, "successfully")  # fmt: skip
    form = b.get("export form", "/index.php?route=/database/export&db=caravan").expect(200).form("dump")
    b.post("export", "/index.php?route=/export",
           {**form.fields, "what": "sql", "output_format": "sendit", "quick_or_custom": "quick"}
           ).expect(200, "CREATE TABLE `stages`", "Ellora")  # fmt: skip
    b.get("search", "/index.php?route=/database/search&db=caravan").expect(200, "Search in database")
    b.get("missing", "/index.php?route=/no/such/route").expect(404)
    out = b.post("log out", "/index.php?route=/logout", {"token": token, "server": "1"}).expect(302)
    b.follow(out).expect(200, "Log in")
