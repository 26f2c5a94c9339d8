//! The dashboard in a real browser with mixed traffic: all views have data, the page's policy is
//! not violated, values from clients are shown as text, and reloads work.
//! `HOWDAH_SCREENSHOTS=FOLDER` saves screenshots.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use howdah_testkit::{Connection, EndOnDrop, Request, Server, Www};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::browser::Browser;
use howdah_tests::caddyfile;
use howdah_tests::devtools::Page;

/// Pages of many kinds, in classic and in worker mode.
const PAGE: &str = r#"<?php
final class Catalog
{
    /** @var list<string> */
    public static array $seen = [];

    public static function load(): void
    {
        usleep(random_int(5, 60) * 1000);
    }

    public static function report(): void
    {
        usleep(random_int(1200, 2600) * 1000);
    }
}

function page(): void
{
    $path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
    switch (explode('/', (string) $path)[1] ?? '') {
        case 'products':
            Catalog::load();
            break;
        case 'report':
            $months = str_repeat('x', 3_000_000);
            Catalog::report();
            break;
        case 'missing':
            http_response_code(404);
            break;
        case 'broken':
            http_response_code(500);
            error_log('broken: <img src=x onerror="window.hacked=1"><script>window.hacked=1</script>');
            break;
        case 'cart':
            Catalog::$seen[] = uniqid();
            break;
        default:
            usleep(random_int(1, 9) * 1000);
    }
    echo 'done';
}
"#;
const INDEX: &str = "<?php
require __DIR__ . '/page.inc';
page();
";
const WORKER: &str = "<?php
require __DIR__ . '/page.inc';
while (frankenphp_handle_request(page(...))) {
}
";

/// Request targets that are repeated.
const TARGETS: [&str; 16] = [
    "/",
    "/products/17",
    "/products/4711?color=red",
    "/api/items/9",
    "/",
    "/products/23",
    "/cart",
    "/classic/",
    "/api/items/1",
    "/missing/page",
    "/products/99",
    "/classic/account",
    "/",
    "/broken",
    "/login",
    "/products/3",
];
/// Paths that contain markup.
const HOSTILE: [&str; 2] = [
    "/report/<script>window.hacked=1</script>",
    "/report/\"><img/src=x/onerror=window.hacked=1>",
];

struct Site {
    server: Server,
    admin: Admin,
    _www: Www,
}

impl Site {
    fn start(workers: usize, classic: usize) -> Self {
        let www = Www::new()
            .file("page.inc", PAGE)
            .file("index.php", INDEX)
            .file("worker.php", WORKER);
        let root = www.path().display();
        let global = format!(
            "{ON}\nfrankenphp {{\nnum_threads {classic}\nslow_log 1s\nworker {{\nname shop\nfile {root}/worker.php\nnum {workers}\ndetect_leaks\nslow_log 1s\n}}\n}}"
        );
        let site = format!(
            "root * {root}\nhandle /classic/* {{\nrewrite * /index.php\nphp_server\n}}\nhandle {{\nphp_server {{\nindex worker.php\ntry_files worker.php\n}}\n}}"
        );
        let server = Server::caddyfile(caddyfile(&global, &site)).start();
        for expected in [
            "slow request",
            "a request leaked state into the worker",
            "broken: ",
        ] {
            server.allow_log(expected);
        }
        let admin = Admin::of(&server);
        Self {
            server,
            admin,
            _www: www,
        }
    }

    /// Lets clients request pages of all kinds while `look` runs, with this total number of
    /// requests per second.
    fn with_traffic(&self, per_second: u32, look: impl FnOnce()) {
        const CLIENTS: u32 = 10;
        let pace = Duration::from_secs(1) * CLIENTS / per_second;
        let is_over = AtomicBool::new(false);
        let end = EndOnDrop(&is_over);
        thread::scope(|scope| {
            for number in 0..CLIENTS {
                scope.spawn({
                    let is_over = &is_over;
                    move || self.ask(number as usize, pace, is_over)
                });
            }
            for target in HOSTILE {
                let is_over = &is_over;
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        self.request(target);
                    }
                });
            }
            let _end = end;
            look();
        });
    }

    /// One client that sends requests at a constant rate. It does not make up for slow responses, so that a loaded
    /// machine gets no more requests at a time.
    fn ask(&self, number: usize, pace: Duration, is_over: &AtomicBool) {
        let mut next = Instant::now() + pace * number as u32 / 10;
        for target in TARGETS.iter().cycle().skip(number * 3) {
            thread::sleep(next.saturating_duration_since(Instant::now()));
            next = (next + pace).max(Instant::now());
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            self.request(target);
        }
    }

    fn request(&self, target: &str) {
        let mut connection = Connection::open(self.server.address()).expect("a connection");
        connection
            .exchange(&Request::get(target))
            .expect("a response");
    }
}

fn open_tab(page: &mut Page, name: &str) {
    page.value(&format!("document.getElementById('tab-{name}').click()"));
    let shown = format!("document.querySelector('[aria-selected=true]').id === 'tab-{name}'");
    page.wait(name, &shown);
}

/// Text that a view shows when it has data, or a script that is then true.
const FILLED: [(&str, &str); 10] = [
    (
        "Workers",
        "document.querySelectorAll('tbody tr').length >= 6 && document.querySelector('td.busy')",
    ),
    (
        "Requests",
        "document.querySelector('main').innerText.includes('GET /report/%3Cscript%3Ewindow.hacked=1%3C/script%3E') \
         && (innerWidth < 1000 || document.querySelector('main').innerText.includes('sleeping: usleep() in ')) \
         && (innerWidth < 1000 || document.querySelector('td.long.wide').clientWidth > 120)",
    ),
    (
        "Routes",
        "document.querySelector('main').innerText.includes('GET /products/:id')",
    ),
    (
        "Slow",
        "document.querySelector('main').innerText.includes('%3Cscript%3E') && document.querySelector('details[open] .track')",
    ),
    (
        "Leaks",
        "document.querySelector('main').innerText.includes('Catalog::$seen')",
    ),
    (
        "Log",
        "document.querySelector('.log').innerText.includes('<script>window.hacked=1</script>')",
    ),
    (
        "Server",
        "document.querySelector('main').innerText.includes('Restarts by reason')",
    ),
    (
        "Hosts",
        "document.querySelector('td.long')?.innerText === 'localhost'",
    ),
    (
        "Config",
        "document.querySelector('pre.config').innerText.includes('\"php_server\"')",
    ),
    (
        "Overview",
        "document.querySelectorAll('.squares i').length >= 6 && document.querySelector('polyline') && document.querySelectorAll('.bars li').length > 5",
    ),
];

#[test]
fn fills_its_tables_reloads_and_takes_no_markup_from_requests() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let site = Site::start(4, 2);
    let mut page = Page::open(&browser);
    page.set_screen(1280, 900, false);
    page.load(&format!("http://{}/", site.admin.address));
    site.with_traffic(20, || {
        page.wait(
            "the page",
            "document.querySelector('#state.good')?.textContent === 'live'",
        );
        assert_eq!(page.value("location.pathname"), "/dashboard/");
        for (tab, filled) in FILLED {
            open_tab(&mut page, tab);
            page.wait(tab, filled);
        }
        let figure = "Number(document.querySelector('.figure b').textContent) > 0";
        page.wait("requests per second", figure);
        assert_eq!(page.value("window.hacked ?? 'no'"), "no");
        assert_eq!(
            page.value("document.querySelectorAll('script, main img').length"),
            1
        );

        page.value("document.getElementById('reload').click()");
        page.wait("the question", "document.getElementById('ask-reload').open");
        page.value("document.querySelector('#ask-reload [value=reload]').click()");
        let done =
            "document.querySelector('.note.good')?.textContent.includes('shop (generation 2)')";
        page.wait("the reload", done);

        page.value("document.getElementById('pause').click()");
        page.wait(
            "the pause",
            "document.getElementById('state').textContent === 'paused'",
        );
        page.value("document.getElementById('pause').click()");
        page.wait(
            "the end of the pause",
            "document.getElementById('state').textContent === 'live'",
        );

        for width in [390, 820, 1280] {
            page.set_screen(width, 844, true);
            for (tab, filled) in FILLED {
                open_tab(&mut page, tab);
                page.wait(tab, filled);
                let overflow =
                    "document.documentElement.scrollWidth - document.documentElement.clientWidth";
                assert_eq!(page.value(overflow), 0, "{tab} at {width}");
                if width == 390 && ["Overview", "Leaks", "Server"].contains(&tab) {
                    let tables = "[...document.querySelectorAll('main .scroll')].filter(own => own.scrollWidth > own.clientWidth).length";
                    assert_eq!(page.value(tables), 0, "tables of {tab} scroll sideways");
                }
            }
        }
    });
    let complaints = page.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn a_page_of_another_site_cannot_use_it() {
    let server = Server::caddyfile(caddyfile(ON, "respond ok")).start();
    let admin = Admin::of(&server);
    let page = Request::get("/dashboard/");
    let file = Request::get("/dashboard/main.js");
    for request in [&page, &file, &Request::get("/activity")] {
        admin.send(request).assert_status(200);
        for (name, value) in [
            ("Origin", "http://evil.example"),
            ("Sec-Fetch-Site", "cross-site"),
            ("Host", "evil.example"),
        ] {
            let refused = request.clone().without(name).header(name, value);
            admin.send(&refused).assert_status(403);
        }
    }
    let policy = admin.send(&page);
    let policy = policy.header("content-security-policy").expect("a policy");
    assert!(
        policy.contains("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    for refused in server.log().containing("refused: ") {
        server.allow_log(refused.message());
    }
    server.allow_log("refused: ");
}

/// A hundred workers and 50 requests/s, for the screenshots of the guide.
#[test]
fn is_photographed() {
    let Some(folder) = std::env::var_os("HOWDAH_SCREENSHOTS").map(PathBuf::from) else {
        println!("skipped: HOWDAH_SCREENSHOTS names no folder");
        return;
    };
    let Some(browser) = Browser::find() else {
        return;
    };
    let site = Site::start(92, 8);
    let mut page = Page::open(&browser);
    page.set_screen(1440, 1080, false);
    page.load(&format!("http://{}/", site.admin.address));
    let mut take = |tab: &str, (width, height): (u32, u32), is_dark: bool| {
        page.set_screen(width, height, is_dark);
        open_tab(&mut page, tab);
        let filled = FILLED.iter().find(|(name, _)| *name == tab);
        page.wait(tab, filled.expect("a tab").1);
        page.wait("a frame", "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
        let scheme = if is_dark { "dark" } else { "light" };
        let name = format!("dashboard-{}-{scheme}-{width}.png", tab.to_lowercase());
        page.photograph(&folder.join(name));
    };
    site.with_traffic(50, || {
        // More than a minute, so that the charts are full.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(75) {
            site.admin.get("/activity").assert_status(200);
            thread::sleep(Duration::from_secs(5));
        }
        for is_dark in [false, true] {
            for (tab, _) in FILLED {
                take(tab, (1440, 1080), is_dark);
            }
        }
        for tab in [
            "Overview", "Routes", "Workers", "Slow", "Log", "Server", "Hosts", "Config",
        ] {
            take(tab, (390, 844), tab != "Routes");
        }
    });
}
