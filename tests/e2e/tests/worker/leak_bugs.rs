//! Bugs of applications that were written for php-fpm, as in the trackers of frameworks: `detect_leaks`
//! names the place of each. `tests/worker/leaks/bugs.php` has one on each page.

use howdah_testkit::{Request, Server};
use howdah_tests::worker::{scripts, worker_caddyfile};

use self::Input::{Cookie, Host, Language, User};

const FOUND: &str = "a request leaked state into the worker";

const HOLDS: &str = "holds request data";

/// What differs between the requests of two users.
enum Input {
    User,
    Language,
    Host,
    Cookie,
}

struct Bug {
    page: &'static str,
    input: Input,
    /// The member that it leaves state in.
    member: &'static str,
    /// How that is recognised.
    why: &'static str,
}

const fn bug(page: &'static str, input: Input, member: &'static str, why: &'static str) -> Bug {
    Bug {
        page,
        input,
        member,
        why,
    }
}

const BUGS: &[Bug] = &[
    bug("instance", User, r"Bugs\Container::$instances", "changes"),
    bug("bind", User, r"Bugs\Container::$bindings", HOLDS),
    bug("listener", User, r"Bugs\Dispatcher::$listeners", "grows"),
    bug(
        "sorted",
        User,
        r"Bugs\SortingDispatcher::$listeners",
        "grows",
    ),
    bug("boot", User, r"Bugs\Model::$booted", "grows"),
    bug("macro", User, r"Bugs\Str::$macros", HOLDS),
    bug("auth", User, r"Bugs\Auth::$user", HOLDS),
    bug("current", User, r"Bugs\Auth::$current", HOLDS),
    bug("static", User, r"Bugs\Auth::user()::$user", HOLDS),
    bug("level", User, r"Bugs\Level::seen()::$count", "counts"),
    bug("global", User, "$GLOBALS['tenant']", HOLDS),
    bug("locale", Language, r"Bugs\Services::$locale", HOLDS),
    bug("share", User, r"Bugs\Services::$shared", HOLDS),
    bug("config", User, r"Bugs\Services::$config", HOLDS),
    bug("root", Host, r"Bugs\Services::$root", HOLDS),
    bug("mail", User, r"Bugs\Services::$from", HOLDS),
    bug("query", User, r"Bugs\Services::$queries", "grows"),
    bug("identity", User, r"Bugs\Services::$identities", "grows"),
    bug("processor", User, r"Bugs\Services::$processors", "grows"),
    bug("middleware", User, r"Bugs\Services::$middleware", "grows"),
    bug("context", User, r"Bugs\Services::$context", "changes"),
    bug("header", User, r"Bugs\Services::$headers", "grows"),
    bug("depth", User, r"Bugs\Services::$depth", "counts"),
    bug("buffer", User, r"Bugs\Services::$buffer", "grows"),
    bug("request", User, r"Bugs\Services::$request", "changes"),
    bug("session", Cookie, r"Bugs\Services::$session", HOLDS),
    bug("owner", User, r"Bugs\Services::$owners", HOLDS),
    bug("job", User, r"Bugs\Services::$jobs", "grows"),
    bug("registry", User, r"Bugs\Services::$registry", HOLDS),
    bug("queue", User, r"Bugs\Services::$queue", "grows"),
    bug("recent", User, r"Bugs\Services::$recent", HOLDS),
    bug("ids", User, r"Bugs\Services::$ids", "grows"),
    bug("export", User, r"Bugs\Services::$export", HOLDS),
    bug("task", User, r"Bugs\Services::$task", HOLDS),
    bug("rows", User, r"Bugs\Services::$rows", HOLDS),
];

fn request(bug: &Bug, user: usize) -> Request {
    let page = bug.page;
    let name = ["alice", "robert"][user];
    let language = ["de", "fr"][user];
    let plain = Request::get(format!("/{page}"));
    match bug.input {
        User => Request::get(format!("/{page}?user={name}")),
        Language => Request::get(format!("/{page}?lang={language}")),
        Host => plain
            .without("Host")
            .header("Host", format!("{name}.example.com")),
        Cookie => plain.header("Cookie", format!("session={name}")),
    }
}

#[test]
fn each_is_named_once() {
    let text = worker_caddyfile(&scripts().join("leaks/bugs.php"), "num 1\ndetect_leaks");
    // `leaks` has another worker script of that name.
    let site = "php_server {\nindex bugs.php\n}";
    let server = Server::caddyfile(text.replacen("php_server", site, 1)).start();
    server.allow_log(FOUND);
    for bug in BUGS {
        for _ in 0..3 {
            for user in 0..2 {
                server.send(&request(bug, user)).assert_status(200);
            }
        }
        for _ in 0..2 {
            server.get("/nothing").assert_status(200);
        }
    }
    let last = BUGS.last().map(|bug| format!("/{}", bug.page));
    server.wait_line("the last leak", |line| line.text("uri") == last.as_deref());
    let lines = server.log().containing(FOUND);
    for Bug {
        page, member, why, ..
    } in BUGS
    {
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
