"""The demo: every URL of its README."""

from __future__ import annotations

from harness.client import Browser, Upload
from harness.compare import Rule
from harness.pictures import png

WORKER = "index.php"
RULES = (
    Rule(r'(?s)<dl class="facts">.*?</dl>', "FACTS", "what the server says about itself is another server's here"),
    Rule(r"(?s)Made by worker \d+ with PHP [\d.]+ in\s+[\d,.]+ ms", "WORKER", "process ids and the clock"),
    Rule(r"\b([Ww]orker) \d+\b", r"\1 PID", "process ids"),
    Rule(r'name="csrf" value="[0-9a-f]{64}"', "CSRF", "random"),
    Rule(r"\b[0-9a-f]{32}\b", "PHOTO", "random names of photos"),
    Rule(r"<code>[0-9a-f]{8}</code>", "REFERENCE", "random number of a log entry"),
    Rule(r"\b\d\.\d\d s\b", "SECONDS", "the clock"),
    Rule(r'"pid": \d+|"time": [\w.]+|"served": (null|\d+)', "PULSE", "process ids, counters and the clock"),
    Rule(r'<time datetime="[^"]*">\d+ \w+ 20\d\d</time>', "DAY", "the clock"),
)


def walk(b: Browser) -> None:
    b.get("start", "/").expect(200, "Seven riders, one elephant.", "What served this page")
    b.get("style", "/assets/caravan.css").expect(200, "--saffron")
    b.get("journal", "/journal").expect(200, "Seven riders reach the sea", "Page 1 of 2")
    b.get("journal, page 2", "/journal?page=2").expect(200, "Padma is measured")
    b.get("cover", "/covers/3.svg").expect(200, "<svg")
    b.get("about", "/about").expect(200, "small, complete PHP application")
    b.get("api", "/api/entries?page=2").expect(200, '"page": 2')
    b.get("pulse", "/api/pulse").expect(200, '"pid"')
    b.head("head", "/journal").expect(200)
    b.get("missing", "/no/such/place").expect(404, "No such place")
    b.post("wrong method", "/about", {}).expect(405)
    b.get("write without login", "/journal/new").expect(403, "Riders only")

    form = b.get("login form", "/login").expect(200, "Climb up").form("/login")
    b.post("wrong password", "/login", {**form.fields, "name": "mahout", "password": "no"}).expect(422, "do not belong")
    done = b.post("login", "/login", {**form.fields, "name": "mahout", "password": "howdah"}).expect(303)
    b.follow(done).expect(200, "Welcome aboard, Asha the mahout.", "Log out")

    form = b.get("write form", "/journal/new").expect(200).form("/journal/new")
    text = {**form.fields, "title": "Ünder <b>way</b>", "place": "Pune", "body": "One.\r\n\r\nTwo & three."}
    b.post("write, incomplete", "/journal/new", {**text, "title": ""}, {}).expect(422, "Give the entry a title.")
    bad = {"photo": Upload("x.png", b"<?php echo 1;")}
    b.post("write, no photo", "/journal/new", text, bad).expect(422, "not a photo")
    picture = png()
    done = b.post("write", "/journal/new", text, {"photo": Upload("p.png", picture)}).expect(303)
    entry = b.follow(done).expect(200, "Your entry is in the journal.", "Ünder &lt;b&gt;way", "Two &amp; three.")
    photo = entry.text.split('class="cover" src="')[1].split('"')[0]
    shown = b.get("photo", photo).expect(200)
    assert shown.body == picture, "the photo came back changed"
    b.get("photo again", photo, {"If-None-Match": shown.header("ETag")}).expect(304)
    comment = {**entry.form("comments").fields, "author": "Zoë", "body": "Salām"}
    done = b.post("comment", entry.form("comments").action, comment).expect(303)
    b.follow(done).expect(200, "Thank you, Zoë.", "Salām")
    b.post("forged", entry.form("comments").action, {**comment, "csrf": "0" * 64}).expect(403, "form has expired")

    b.get("slow", "/slow/wait?ms=200").expect(200, "The tea is ready.")
    b.get("stream", "/stream?ms=5").expect(200, "Jaipur", "Mumbai", "Arrived, all seven.")
    b.get("throw", "/trials/throw").expect(500, "A rider fell off.")
    b.get("exit", "/trials/exit").expect(200, "called <code>exit()</code>", "The rest of the page")
    b.get("memory", "/trials/memory").expect(500, "Too much tea")
    start = b.get("start, logged in", "/").expect(200, "Log out")
    done = b.post("log out", "/logout", start.form("/logout").fields).expect(303)
    b.follow(done).expect(200, "You are logged out.", "Log in")
