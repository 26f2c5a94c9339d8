//! `detect_leaks` reports data that requests leave in a worker, except for data that an application
//! keeps on purpose.

use howdah_testkit::{PATIENCE, Request, Server, process};
use howdah_tests::codeigniter;
use howdah_tests::worker::{scripts, worker_caddyfile};

const FOUND: &str = "a request leaked state into the worker";

fn serve(script: &str, lines: &str) -> Server {
    let text = worker_caddyfile(&scripts().join(script), lines);
    Server::caddyfile(text).start()
}

/// Members or paths of the findings so far.
fn places(server: &Server) -> Vec<String> {
    let lines = server.log().containing(FOUND);
    let place = |field| lines.iter().filter_map(move |line| line.text(field));
    let mut places: Vec<_> = place("path").map(str::to_owned).collect();
    places.sort();
    places
}

/// Sends `times` requests for a page.
fn repeat(server: &Server, page: &str, times: usize) {
    for _ in 0..times {
        server.get(page).assert_status(200);
    }
}

#[test]
fn a_leak_has_its_place_its_request_and_its_declaration() {
    let server = serve("leaks/index.php", "num 1\ndetect_leaks");
    server.allow_log(FOUND);
    repeat(&server, "/cart?key=s3cret", 4);
    let line = server.wait_line("the leak", |line| line.text("path") == Some("Cart::$items"));
    let text = |field| line.text(field);
    assert_eq!(line.level(), Some("warn"));
    assert_eq!(text("kind"), Some("static property"));
    assert_eq!(text("why"), Some("grows"));
    assert_eq!(text("member"), Some("Cart::$items"));
    assert_eq!(text("value"), Some("array(3)"));
    assert_eq!((text("method"), text("uri")), (Some("GET"), Some("/cart")));
    assert!(text("file").is_some_and(|file| file.ends_with("/leaks/index.php")));
    assert_eq!(line.number("line"), Some(9));
    assert_eq!(line.number("count"), Some(3));
    assert!(text("request_id").is_some_and(|id| id.len() == 16));
    repeat(&server, "/cart", 9);
    repeat(&server, "/log", 4);
    server.wait_line("a service", |line| {
        line.text("member") == Some("Logger::$lines")
    });
    assert_eq!(
        places(&server),
        ["$GLOBALS['logger']->lines", "Cart::$items"],
        "each once"
    );
}

#[test]
fn the_workers_of_a_pool_report_a_place_once() {
    let server = serve("leaks/index.php", "num 3\ndetect_leaks");
    server.allow_log(FOUND);
    let pids: std::collections::HashSet<String> = (0..200)
        .flat_map(|_| howdah_testkit::load::at_once(3, |_| server.get("/cart").text()))
        .collect();
    assert!(pids.len() > 1, "one worker answered all");
    server.wait_log(FOUND);
    server.get("/log").assert_status(200);
    assert_eq!(places(&server), ["Cart::$items"]);
}

#[test]
fn a_value_of_a_client_that_outlives_the_next_request_is_a_leak() {
    let server = serve("leaks/index.php", "num 1\ndetect_leaks");
    server.allow_log(FOUND);
    server.get("/login?name=alice").assert_status(200);
    server.get("/other").assert_status(200);
    let line = server.wait_line("the leak", |line| line.text("path") == Some("Cart::$user"));
    assert_eq!(line.text("why"), Some("holds request data"));
    assert_eq!(line.text("uri"), Some("/login"));
}

#[test]
fn allowed_differences_are_not_reported() {
    let server = serve(
        "leaks/index.php",
        "num 1\nkeep timezone\ndetect_leaks {\nallow Cart::*\nallow \"$GLOBALS['logger']*\" \"time zone\"\n}",
    );
    server.allow_log(FOUND);
    for page in ["/cart", "/log", "/zone", "/allowed"] {
        repeat(&server, page, 5);
    }
    server.wait_line("the control", |line| {
        line.text("path") == Some("Allowed::$misses")
    });
    assert_eq!(places(&server), ["Allowed::$misses"]);
}

/// Octane forgets the login and the cookies of a request when the next one begins; without it they are leaks.
#[test]
fn what_octane_resets_is_not_reported() {
    let visited = |script: &str| {
        let server = serve(&format!("leaks/{script}"), "num 1\ndetect_leaks");
        server.allow_log(FOUND);
        for query in ["?user=alice", "", "", "?user=robert", "", ""] {
            server.get(&format!("/{script}{query}")).assert_status(200);
        }
        server
    };
    let server = visited("laravel.php");
    let leaks = ["$GLOBALS['auth']->guards", "$GLOBALS['cookies']->queued"];
    assert!(
        process::wait_until(PATIENCE, || places(&server) == leaks),
        "{:?}",
        places(&server)
    );
    assert_eq!(places(&visited("octane.php")), Vec::<String>::new());
}

/// Entities of the last request stay until the next one begins. If they pile up, nothing clears them.
#[test]
fn entities_that_are_cleared_are_not_reported() {
    let server = serve("leaks/doctrine.php", "num 1\ndetect_leaks");
    server.allow_log(FOUND);
    for page in ["/doctrine.php?user=alice", "/doctrine.php"] {
        repeat(&server, page, 12);
    }
    assert_eq!(places(&server), Vec::<String>::new());
    repeat(&server, "/doctrine.php?keep=1", 12);
    let line = server.wait_log(FOUND);
    assert_eq!(line.text("why"), Some("grows"));
    assert_eq!(
        line.text("member"),
        Some(r"Doctrine\ORM\UnitOfWork::$originalEntityData")
    );
}

/// Symfony's validators keep the context of the last validation. What they keep elsewhere is a leak.
#[test]
fn the_context_of_the_last_validation_is_not_reported() {
    let server = serve("leaks/validator.php", "num 1\ndetect_leaks");
    server.allow_log(FOUND);
    let validate = |keep: &str| {
        for _ in 0..6 {
            for query in ["?user=alice", "?user=robert"] {
                repeat(&server, &format!("/validator.php{query}{keep}"), 3);
            }
            repeat(&server, "/validator.php", 2);
        }
    };
    validate("");
    assert_eq!(places(&server), Vec::<String>::new());
    validate("&keep=1");
    assert_eq!(
        places(&server),
        [
            "$GLOBALS['factory']->context",
            "$GLOBALS['factory']->validators['user']->last",
            "$GLOBALS['factory']->validators['user']->seen",
        ]
    );
}

#[test]
fn a_sample_finds_growing_values() {
    let server = serve("leaks/index.php", "num 1\ndetect_leaks sample 10");
    server.allow_log(FOUND);
    repeat(&server, "/cart", 15);
    assert_eq!(places(&server), Vec::<String>::new(), "too few looks");
    repeat(&server, "/cart", 10);
    server.wait_log(FOUND);
}

#[test]
fn development_has_a_header() {
    let script = scripts().join("leaks/index.php");
    let server = Server::builder(scripts().join("leaks"))
        .arg("--worker")
        .arg(format!("{},1", script.display()))
        .arg("--detect-leaks")
        .start();
    server.allow_log(FOUND);
    let count = || {
        let response = server.get("/cart");
        response.header("x-howdah-leaks").map(str::to_owned)
    };
    let counts: Vec<_> = (0..5).filter_map(|_| count()).collect();
    assert_eq!(counts, ["0", "0", "0", "1", "1"]);
}

#[test]
fn psr15_and_the_scripts_of_these_tests_are_clean() {
    let server = serve("psr15/index.php", "num 1\ndetect_leaks");
    for _ in 0..6 {
        for who in ["ann", "robert"] {
            let request = Request::new("POST", format!("/{who}?name={who}&x[]=1"))
                .header("X-Who", who)
                .header("Cookie", format!("login={who}"))
                .body("the body");
            server.send(&request).assert_status(201);
        }
    }
    server.stop();
    for script in [
        "hello.php",
        "info.php",
        "headers.php",
        "response_headers.php",
        "superglobals.php",
        "input.php",
        "session.php",
    ] {
        let server = serve(script, "num 1\ndetect_leaks");
        for _ in 0..6 {
            for query in ["", "?name=robert&i=4711"] {
                let status = server.get(&format!("/{script}{query}")).status();
                assert!(status < 300, "{script}: {status}");
            }
        }
        server.stop();
    }
}

/// Symfony of the distribution or of a checkout. Its log must not report a leak.
fn check_symfony(source: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let env = format!(
        "env HALF_WAY_DIR {0}\nenv HALF_WAY_BOOTS {0}/boots\n{source}",
        folder.path().display()
    );
    let text = worker_caddyfile(
        &scripts().join("half_way/symfony.php"),
        &format!("num 1\n{env}\ndetect_leaks"),
    );
    let site = "php_server {\nindex symfony.php\n}";
    let server = Server::caddyfile(text.replacen("php_server", site, 1)).start();
    for _ in 0..6 {
        for (target, start) in [
            ("/who", "nobody in /who below none"),
            ("/who?login=robert", "robert in /who below none"),
            ("/who?login=mallory", "mallory in /who below none"),
        ] {
            server.get(target).assert(200, start);
        }
        let missing = server.get("/none");
        missing.assert_status(404);
        assert!(missing.text().contains("<html"), "{}", missing.text());
    }
    server.stop();
}

#[test]
fn symfony_is_clean() {
    check_symfony("");
}

/// Symfony 7 or later. `HOWDAH_SYMFONY` names a folder in which Composer installed
/// `symfony/symfony`.
#[test]
fn symfony_of_a_checkout_is_clean() {
    let Ok(folder) = std::env::var("HOWDAH_SYMFONY") else {
        println!("skipped: HOWDAH_SYMFONY does not name a folder of Symfony");
        return;
    };
    check_symfony(&format!("env HALF_WAY_SYMFONY {folder}"));
}

/// Two visitors with sessions.
#[test]
fn codeigniter_is_clean() {
    let Some(www) = codeigniter::application("") else {
        return;
    };
    // It counts the requests of its worker.
    let lines = "detect_leaks {\nallow App\\Controllers\\Probe::$calls\n}";
    let server = codeigniter::serve_with(&www, 1, lines);
    for _ in 0..6 {
        for name in ["robert", "mallory"] {
            for target in [
                "/",
                "/probe/pid",
                "/probe/count",
                "/probe/settings",
                "/probe/download",
                "/no/such/page",
            ] {
                let request = Request::get(format!("{target}?name={name}"));
                let request = request.header("Cookie", format!("login={name}"));
                let status = server.send(&request).status();
                assert!([200, 404].contains(&status), "{target}: {status}");
            }
        }
    }
    server.stop();
}
