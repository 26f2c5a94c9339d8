"""WordPress: pretty addresses, many entry points, the REST API, uploads with several sizes."""

from __future__ import annotations

import re

from harness.client import Browser, Upload
from harness.compare import Rule
from harness.pictures import png

DATABASE = "wordpress"

RULES = (
    Rule(r"(mailto:)?(?:[\w@.+-]|&#\d{2,3};)*&#(?:\d{2,3});(?:[\w@.+-]|&#\d{2,3};)*", "ADDRESS", "written at random"),
    Rule(r'data-pw="[^"]*"', "PASSWORD", "a password proposed at random"),
    Rule(r"\b\d\.gravatar\.com", "N.gravatar.com", "one of three at random"),
    Rule(r"(?i)(nonce[\w-]*[\"']?\s*(value=|:|=)\s*[\"']?)[0-9a-f]{10}\b", r"\1NONCE", "depends on the session"),
    # One of digits alone looks like the time.
    Rule(r"\b(?:[0-9a-f]{10}|UNIXTIME)\b", "NONCE", "depends on the session"),
    Rule(r'name="_ajax_nonce[^>]*', "NONCE", "depends on the session"),
    Rule(r"\b(January|February|March|April|May|June|July|August|September|October|November|December) \d+, 20\d\d",
         "DAY", "the clock"),
    Rule(r"(?i)(heartbeat|serverTime|interval)[\"']?:[\"']?\d+", r"\1:N", "the clock"),
    Rule(r'id="(mm|jj|aa|hh|mn|ss|hidden_\w+|cur_\w+)"[^>]*>', "CLOCKFIELD", "the clock"),
    Rule(r"nginx/[\d.]+|Howdah/[\d.]+ \(like nginx, Caddy\)", "SOFTWARE", "each its own name"),
    Rule(r"response time was \d+ milliseconds", "response time was N milliseconds", "the clock"),
    Rule(r"_fs_blog_admin|[0-9a-f]{32}", "HASH", "random"),
)  # fmt: skip


def walk(b: Browser) -> None:
    b.get("front page", "/").expect(200, "Elephant blog", "Stage 14 of the road")
    b.get("page 2", "/page/2/").expect(200, "Stage 4 of the road")
    b.get("post", "/stage-3-of-the-road/").expect(200, "day 3.")
    b.get("post without a slash", "/stage-3-of-the-road").expect(301)
    b.get("missing", "/no-such-page/").expect(404)
    b.get("search", "/?s=elephant").expect(200, "Stage")
    b.get("feed", "/feed/").expect(200, "<rss")
    b.get("static style", "/wp-includes/css/buttons.min.css").expect(200)
    b.get("rest", "/wp-json/wp/v2/posts?per_page=2&_fields=id,slug,title").expect(200, "stage-14-of-the-road")
    b.get("rest, missing", "/wp-json/wp/v2/posts/99999").expect(404, "rest_post_invalid_id")
    b.get("robots", "/robots.txt").expect(200, "Disallow: /wp-admin/")

    hello = b.get("first post", "/hello-world/").expect(200).form("comment")
    fields = {**hello.fields, "author": "Mira", "email": "mira@example.org", "comment": "Salt & tea, ünd mehr."}
    b.post("comment", "/wp-comments-post.php", fields).expect(302)

    b.get("admin without login", "/wp-admin/").expect(302)
    login = b.get("login form", "/wp-login.php").expect(200, "Elephant blog").form("log")
    fields = {**login.fields, "log": "asha", "pwd": "no", "testcookie": "1"}
    b.post("wrong password", "/wp-login.php", fields).expect(200, "is incorrect")
    done = b.post("login", "/wp-login.php", {**fields, "pwd": "howdah-secret-1"}).expect(302)
    b.follow(done).expect(200, "Dashboard")
    b.get("posts", "/wp-admin/edit.php").expect(200, "Stage 14 of the road")
    b.get("comments", "/wp-admin/edit-comments.php").expect(200, "Salt &amp; tea, ünd mehr.")
    general = b.get("settings", "/wp-admin/options-general.php").expect(200).form("blogname")
    done = b.post("save settings", "/wp-admin/options.php", {**general.fields, "blogname": "Bigger blog"}).expect(302)
    b.follow(done).expect(200, "Settings saved.", "Bigger blog")

    b.get("permalinks", "/wp-admin/options-permalink.php").expect(200, "/%postname%/").without("index.php/%postname%")
    b.get("site health", "/wp-admin/site-health.php").expect(200, "SiteHealth")
    b.get("site health, info", "/wp-admin/site-health.php?tab=debug").expect(200, "pretty permalinks")

    page = b.get("new post", "/wp-admin/post-new.php").expect(200)
    nonce = re.search(r'createNonceMiddleware\( "([0-9a-f]+)"', page.text)
    assert nonce, "no nonce for the REST API in the editor"
    body = b'{"title":"Written by hand","content":"<!-- wp:paragraph --><p>One & two</p>","status":"publish"}'
    headers = {"Content-Type": "application/json", "X-WP-Nonce": nonce.group(1)}
    # Background requests of Site Health: the server calls itself, with and without a password.
    for test in ("loopback-requests", "page-cache", "authorization-header"):
        target = f"/wp-json/wp-site-health/v1/tests/{test}"
        asked = {"X-WP-Nonce": nonce.group(1), "Authorization": "Basic dXNlcjpwd2Q="}
        b.request(f"site health, {test}", "GET", target, None, asked).expect(200, '"status"')
    b.request("publish", "POST", "/wp-json/wp/v2/posts", body, headers).expect(201, "written-by-hand")
    b.get("published", "/written-by-hand/").expect(200, "One &#038; two")

    media = b.get("upload form", "/wp-admin/media-new.php?browser-uploader").expect(200).form("async-upload")
    done = b.post("upload", "/wp-admin/media-new.php", {**media.fields, "html-upload": "Upload"},
                  {"async-upload": Upload("ramp.png", png(640, 480))}).expect(302)  # fmt: skip
    b.follow(done).expect(200)
    item = b.get("uploaded", "/wp-json/wp/v2/media?_fields=source_url").expect(200, "ramp.png").text
    source = re.search(r'"source_url":"([^"]+)"', item)
    assert source, "no picture in the media list"
    shown = b.get("picture", source.group(1).replace("\\/", "/")).expect(200)
    assert shown.body == png(640, 480), "the picture came back changed"

    page = b.get("before the end", "/wp-admin/profile.php").expect(200)
    out = re.search(r"href=[\"']([^\"']*action=logout[^\"']*)[\"']", page.text)
    assert out, "no link to log out"
    done = b.get("log out", out.group(1).replace("&#038;", "&").replace("&amp;", "&")).expect(302)
    b.follow(done).expect(200, "You are now logged out.")
