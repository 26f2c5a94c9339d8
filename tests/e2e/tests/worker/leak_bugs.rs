//! Bugs of applications that were written for php-fpm, as in the trackers of frameworks: `detect_leaks`
//! names the place of each. `tests/worker/leaks/bugs.php` has one on each page.

use howdah_testkit::{Request, Server};
use howdah_tests::worker::{scripts, worker_caddyfile};

const FOUND: &str = "a request leaked state into the worker";

/// Page, its parameter, the member that it leaves state in, and how that is recognised.
const BUGS: &[(&str, &str, &str, &str)] = &[
    (
        "instance",
        "",
        r"Bugs\Container::$instances",
        "holds request data",
    ),
    (
        "bind",
        "",
        r"Bugs\Container::$bindings",
        "holds request data",
    ),
    ("listener", "", r"Bugs\Dispatcher::$listeners", "grows"),
    ("sorted", "", r"Bugs\SortingDispatcher::$listeners", "grows"),
    ("boot", "", r"Bugs\Model::$booted", "grows"),
    ("macro", "", r"Bugs\Str::$macros", "holds request data"),
    ("auth", "", r"Bugs\Auth::$user", "holds request data"),
    ("current", "", r"Bugs\Auth::$current", "holds request data"),
    (
        "static",
        "",
        r"Bugs\Auth::user()::$user",
        "holds request data",
    ),
    ("level", "", r"Bugs\Level::seen()::$count", "counts"),
    ("global", "", "$GLOBALS['tenant']", "holds request data"),
    (
        "locale",
        "lang",
        r"Bugs\Services::$locale",
        "holds request data",
    ),
    ("share", "", r"Bugs\Services::$shared", "holds request data"),
    (
        "config",
        "",
        r"Bugs\Services::$config",
        "holds request data",
    ),
    (
        "root",
        "host",
        r"Bugs\Services::$root",
        "holds request data",
    ),
    ("mail", "", r"Bugs\Services::$from", "holds request data"),
    ("query", "", r"Bugs\Services::$queries", "grows"),
    ("identity", "", r"Bugs\Services::$identities", "grows"),
    ("processor", "", r"Bugs\Services::$processors", "grows"),
    ("middleware", "", r"Bugs\Services::$middleware", "grows"),
    ("context", "", r"Bugs\Services::$context", "changes"),
    ("header", "", r"Bugs\Services::$headers", "grows"),
    ("depth", "", r"Bugs\Services::$depth", "counts"),
    ("buffer", "", r"Bugs\Services::$buffer", "grows"),
    ("request", "", r"Bugs\Services::$request", "changes"),
    (
        "session",
        "cookie",
        r"Bugs\Services::$session",
        "holds request data",
    ),
    ("owner", "", r"Bugs\Services::$owners", "holds request data"),
    ("job", "", r"Bugs\Services::$jobs", "grows"),
    (
        "registry",
        "",
        r"Bugs\Services::$registry",
        "holds request data",
    ),
    ("queue", "", r"Bugs\Services::$queue", "grows"),
    (
        "recent",
        "",
        r"Bugs\Services::$recent",
        "holds request data",
    ),
    ("ids", "", r"Bugs\Services::$ids", "grows"),
];

fn request(page: &str, with: &str, user: usize) -> Request {
    let name = ["alice", "robert"][user];
    let language = ["de", "fr"][user];
    let plain = Request::get(format!("/{page}"));
    match with {
        "lang" => Request::get(format!("/{page}?lang={language}")),
        "host" => plain
            .without("Host")
            .header("Host", format!("{name}.example.com")),
        "cookie" => plain.header("Cookie", format!("session={name}")),
        _ => Request::get(format!("/{page}?user={name}")),
    }
}

#[test]
fn each_is_named_once() {
    let text = worker_caddyfile(&scripts().join("leaks/bugs.php"), "num 1\ndetect_leaks");
    // `leaks` has another worker script of that name.
    let site = "php_server {\nindex bugs.php\n}";
    let server = Server::caddyfile(text.replacen("php_server", site, 1)).start();
    server.allow_log(FOUND);
    for (page, with, ..) in BUGS {
        for _ in 0..3 {
            for user in 0..2 {
                server.send(&request(page, with, user)).assert_status(200);
            }
        }
        for _ in 0..2 {
            server.get("/nothing").assert_status(200);
        }
    }
    let lines = server.log().containing(FOUND);
    for (page, _, member, why) in BUGS {
        let found: Vec<_> = (lines.iter())
            .filter(|line| line.text("uri") == Some(&format!("/{page}")))
            .collect();
        let [line] = found[..] else {
            panic!("{page}: {found:#?}");
        };
        assert_eq!(
            (line.text("member"), line.text("why")),
            (Some(*member), Some(*why))
        );
        let value = line.text("value").expect("a value");
        assert!(
            !value.contains("alice") && !value.contains("robert"),
            "{value}"
        );
        let file = line.text("file");
        assert!(
            member.starts_with('$') || file.is_some_and(|file| file.ends_with("/leaks/bugs.php")),
            "{page}: {file:?}"
        );
    }
    assert_eq!(lines.len(), BUGS.len(), "nothing else");
}
