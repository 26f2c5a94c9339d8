//! A real browser in front of PHP: a page with early hints over each version of HTTP, and the
//! browser's `EventSource` at the Mercure hub.

use howdah_testkit::{Gate, Server, Www};
use howdah_tests::browser::{Browser, Visit};
use howdah_tests::encode;
use howdah_tests::tls::Authority;
use tempfile::TempDir;

/// Sends a hint for its style sheet and waits until the browser has requested it, if the browser
/// supports hints. Then it responds in any case. Its `load` event waits for an image. The image is
/// sent when the page has shown the hub's event, so the browser's document contains that event.
const PAGE: &str = r#"<?php
$gate = $_GET['gate'];
header("Link: </style.php?gate=$gate>; rel=preload; as=style");
headers_send(103);
$heeded = 'not';
if (isset($_GET['heeds'])) {
    $asked = [fopen("$gate.hint.open", 'r')];
    $none = null;
    $heeded = stream_select($asked, $none, $none, 10) ? 'heeded' : 'ignored';
}
?>
<!doctype html>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.php?gate=<?= $gate ?>">
<p id="php"><?= $_SERVER['SERVER_PROTOCOL'] ?></p>
<p id="hints"><?= $heeded ?></p><p id="browser"></p><p id="style"></p><p id="sent"></p><p id="got"></p>
<script>
const show = (id, text) => document.getElementById(id).textContent = text;
const source = new EventSource('/.well-known/mercure?topic=' + encodeURIComponent('https://a.test/books/{id}'));
let sent;
source.onopen = () => sent ??= fetch('/publish.php').then(response => response.text());
source.onmessage = async event => {
    show('got', event.data + ' ' + event.lastEventId);
    show('sent', await sent);
    show('browser', performance.getEntriesByType('navigation')[0].nextHopProtocol);
    show('style', getComputedStyle(document.body).color);
    source.close();
    await fetch('/seen.php?gate=<?= $gate ?>');
};
</script>
<img src="/wait.php?gate=<?= $gate ?>">
"#;
const STYLE: &str = r"<?php
header('Content-Type: text/css');
header('Cache-Control: max-age=3600');
file_put_contents($_GET['gate'] . '.hint.open', 'x');
echo 'body { color: rgb(1, 2, 3) }';
";
const PUBLISH: &str = r"<?php
echo 'from PHP ', mercure_publish('https://a.test/books/1', 'from PHP');
";
const SEEN: &str = r"<?php
file_put_contents($_GET['gate'] . '.open', 'x');
";
const WAIT: &str = r#"<?php
header('Content-Type: image/svg+xml');
fgetc(fopen($_GET['gate'] . '.open', 'r'));
echo '<svg xmlns="http://www.w3.org/2000/svg"/>';
"#;

struct Site {
    server: Server,
    browser: Browser,
    scheme: &'static str,
    gates: [Gate; 2],
    _www: Www,
    _directory: TempDir,
}

impl Site {
    /// `None` if this machine has no browser.
    fn start(scheme: &'static str) -> Option<Self> {
        let browser = Browser::find()?;
        let directory = tempfile::tempdir().expect("a directory");
        let www = Www::new()
            .file("index.php", PAGE)
            .file("publish.php", PUBLISH)
            .file("seen.php", SEEN)
            .file("wait.php", WAIT)
            .file("style.php", STYLE);
        let pair = Authority::new().issue(directory.path(), "a", &["localhost"]);
        let tls = if scheme == "https" {
            format!("tls {pair}")
        } else {
            String::new()
        };
        let server = Server::caddyfile(format!(
            "{{\nadmin off\nauto_https disable_redirects\nstorage file_system {}\n\
             frankenphp {{\nnum_threads 3\n}}\n}}\n\
             {scheme}://localhost:0 {{\nbind 127.0.0.1\n{tls}\n\
             mercure {{\npublisher_jwt a-secret-of-more-than-32-bytes-for-HS256\nsubscriber_jwt a-secret-of-more-than-32-bytes-for-HS256\nanonymous\n}}\n\
             root * {}\nphp_server\n}}\n",
            directory.path().display(),
            www.path().display(),
        ));
        let server = server.start();
        Some(Self {
            gates: ["gate", "gate.hint"].map(|name| server.gate(name)),
            server,
            browser: browser.trusting(&pair),
            scheme,
            _www: www,
            _directory: directory,
        })
    }

    /// `more` is added to the query.
    #[track_caller]
    fn visit(&self, more: &str) -> Visit {
        let port = self.server.address().port();
        let gate = encode(self.gates[0].path());
        let url = format!("{}://localhost:{port}/?gate={gate}{more}", self.scheme);
        self.browser.visit(&url)
    }
}

/// A visit in which the browser used the hints. Chromium ignores hints that arrive before it is
/// ready for them. On a busy machine this happens to about one request in sixty. The visit is then
/// repeated.
fn heeding(start: impl Fn() -> Option<Site>) -> Option<Visit> {
    const ATTEMPTS: usize = 4;
    for _ in 0..ATTEMPTS {
        let visit = start()?.visit("&heeds");
        if visit.text("hints") != Some("ignored") {
            return Some(visit);
        }
    }
    panic!("hints were ignored {ATTEMPTS} times");
}

/// Checks the protocol as seen by PHP and by the browser, and the event as seen by both.
#[track_caller]
fn assert_document(visit: &Visit, php: &str, browser: &str) {
    let text = |id| visit.text(id).unwrap_or_else(|| panic!("{visit:?}"));
    assert_eq!((text("php"), text("browser")), (php, browser));
    assert_eq!(text("style"), "rgb(1, 2, 3)");
    let got = text("got");
    assert!(got.starts_with("from PHP urn:uuid:"), "{got}");
    assert_eq!(got, text("sent"));
}

/// Checks that the browser logged an event for each of `what`.
#[track_caller]
fn assert_logged(visit: &Visit, event: &str, what: &[&str]) {
    let logged = visit.logged(event);
    for what in what {
        assert!(
            logged.iter().any(|params| params.contains(what)),
            "{event} with {what}: {logged:#?}"
        );
    }
}

const HINT: &str = "HTTP_TRANSACTION_READ_EARLY_HINTS_RESPONSE_HEADERS";

#[test]
fn over_http1() {
    let Some(site) = Site::start("http") else {
        return;
    };
    // This browser logs hints over HTTP/1.1 but does not use them.
    let visit = site.visit("");
    assert_document(&visit, "HTTP/1.1", "http/1.1");
    assert_logged(&visit, HINT, &["103", "rel=preload"]);
    let sent = "HTTP_TRANSACTION_SEND_REQUEST_HEADERS";
    assert_logged(&visit, sent, &["GET /?gate=", "GET /.well-known/mercure?"]);
}

#[test]
fn over_http2() {
    let Some(visit) = heeding(|| Site::start("https")) else {
        return;
    };
    assert_document(&visit, "HTTP/2.0", "h2");
    assert_logged(&visit, HINT, &["103", "rel=preload"]);
    let sent = "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS";
    assert_logged(&visit, sent, &[":path: /?gate=", ":path: /.well-known/"]);
}

#[test]
fn over_http3() {
    let over_http3 = || {
        let mut site = Site::start("https")?;
        site.browser = site.browser.over_http3(site.server.address());
        Some(site)
    };
    let Some(visit) = heeding(over_http3) else {
        return;
    };
    assert_document(&visit, "HTTP/3.0", "h3");
    assert_logged(&visit, HINT, &["103", "rel=preload"]);
    let sent = "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS";
    assert_logged(&visit, sent, &[":path: /?gate=", ":path: /.well-known/"]);
}
