//! Live requests, each panel of the dashboard's Server tab, the memory of workers, and the histogram of response
//! times, in a real browser.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use howdah_testkit::{EndOnDrop, PATIENCE, Server, Signal, Www, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::browser::Browser;
use howdah_tests::devtools::Page;
use howdah_tests::{caddyfile, encode};
use serde_json::Value;

use crate::dashboard_profile::OpenOnDrop;

/// A request that waits for a file, and requests that keep it waiting.
const WORKER: &str = "<?php
function handle(): void
{
    if (isset($_GET['gate'])) {
        while (!file_exists($_GET['gate'])) {
            usleep(1000);
            clearstatcache();
        }
    } else {
        $end = hrtime(true) + 250_000_000;
        while (hrtime(true) < $end) {
        }
    }
    echo 'served';
}
while (frankenphp_handle_request('handle')) {
}
";

/// `cell(CARD, ROW, COLUMN)` is the text of a cell, `fact(NAME)` that of a value with a name,
/// `time(TEXT)` milliseconds, and `legend()` what is written above the histogram.
const READ: &str = "void (window.cell = (card, row, column) => {
    const shown = [...document.querySelectorAll('.card')].find(own => own.querySelector('h2')?.textContent === card);
    const found = [...shown.querySelectorAll('tbody tr')].find(own => own.cells[0].textContent === row);
    return [...found.cells].find(own => own.dataset.label === column).textContent;
}, window.fact = name => [...document.querySelectorAll('dt')].find(own => own.textContent === name).nextSibling.textContent,
window.time = text => parseFloat(text) * (text.endsWith(' ms') ? 1 : 1000),
window.legend = () => [...document.querySelectorAll('.charts .legend')].at(-1).textContent)";

fn pool<'v>(status: &'v Value, name: &str) -> &'v Value {
    let mut pools = status["pools"].as_array().expect("pools").iter();
    pools.find(|pool| pool["name"] == name).expect("the pool")
}

/// Kills the process of the pool for classic requests, and waits for the next one.
fn kill_worker(server: &Server, admin: &Admin) {
    server.expect_log("worker died");
    let status = admin.get("/status").json();
    let pid = pool(&status, "php")["workers"][0]["pid"].as_u64();
    let pid = u32::try_from(pid.expect("a process")).expect("a process");
    process::kill(pid, Signal::KILL).expect("it is there");
    let is_replaced = process::wait_until(PATIENCE, || {
        let status = admin.get("/status").json();
        let pool = pool(&status, "php");
        pool["counters"]["crashed"] == 1 && pool["workers"][0]["state"] == "idle"
    });
    assert!(is_replaced, "{:#}", admin.get("/status").json());
}

#[test]
fn each_panel_shows_what_happened() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let www = Www::new()
        .file("worker.php", WORKER)
        .file("index.php", "<?php echo 'classic';");
    let storage = tempfile::tempdir().expect("a directory");
    let root = www.path().display();
    let global = format!(
        "{ON}\nauto_https disable_redirects\nstorage file_system {}\nfrankenphp {{\nnum_threads 1\n\
         worker {{\nname app\nfile {root}/worker.php\nnum 1\nconcurrency 4\n}}\n}}",
        storage.path().display()
    );
    let site = format!(
        "root * {root}\nhandle /up {{\nreverse_proxy 127.0.0.1:9 {{\nmax_fails 1\nfail_duration 1h\n}}\n}}\n\
         handle /app* {{\nphp_server {{\nindex worker.php\ntry_files worker.php\n}}\n}}\nhandle {{\nphp_server\n}}"
    );
    let secure = "https://shop.example:0 {\nbind 127.0.0.1\ntls internal\nrespond shop\n}\n";
    let server = Server::caddyfile(format!("{}{secure}", caddyfile(&global, &site))).start();
    server.allow_hogs();
    let admin = Admin::of(&server);
    server.get("/").assert(200, "classic");
    server.allow_log("127.0.0.1:9");
    server.get("/up").assert_status(502);
    kill_worker(&server, &admin);
    // A new process has no memory before its first request.
    server.get("/").assert(200, "classic");

    let file = www.path().join("gate");
    let is_over = AtomicBool::new(false);
    let end = EndOnDrop(&is_over);
    thread::scope(|scope| {
        let open = OpenOnDrop(&file);
        let waiting = format!("/app?gate={}", encode(&file));
        let server = &server;
        scope.spawn(move || server.get(&waiting).assert(200, "served"));
        let is_over = &is_over;
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                server.get("/app").assert(200, "served");
                // OPcache stores a file when it is two seconds old.
                server.get("/").assert(200, "classic");
            }
        });
        let _end = (open, end);
        assert_panels(&browser, &admin);
    });
}

/// What is to be seen on each tab.
const PANELS: [(&str, &[&str]); 4] = [
    (
        "Requests",
        &[
            "[...document.querySelectorAll('td[data-label=Route]')].some(own => own.textContent === 'GET /app')",
            "[...document.querySelectorAll('td[data-label=Memory]')].some(own => /^[\\d.]+ [KM]iB$/.test(own.textContent))",
        ],
    ),
    (
        "Server",
        &[
            "cell('Restarts by reason', 'php', 'Crashed') === '1'",
            "cell('Restarts by reason', 'php', 'Started') === '2'",
            "cell('Restarts by reason', 'app', 'Crashed') === '0'",
            "cell('Refused with 503', 'php', 'Queue full') === '0'",
            "Number(fact('Scripts')) >= 1",
            "/^[1-9]/.test(fact('Hits'))",
            "/^[\\d.]+ MiB used, /.test(fact('Memory'))",
            "cell('Certificates', 'shop.example', 'Expires in').match(/^(\\d+)h /)[1] > 0",
            // It is valid for less than a day, and was issued a moment ago.
            "!document.querySelector('td[data-label=\"Expires in\"]').classList.contains('bad')",
            "cell('Upstreams', '127.0.0.1:9', 'State') === 'unhealthy'",
            "cell('Upstreams', '127.0.0.1:9', 'Failures') === '1'",
            "/^[12] of 4$/.test(cell('Coroutines', 'app', 'Requests in hand'))",
            "cell('Coroutines', 'app', 'State') === 'concurrent'",
            "time(cell('Coroutines', 'app', 'Longest loop lag')) >= 200",
            "fact('Last reload') === 'accepted'",
        ],
    ),
    (
        "Workers",
        &[
            "/^[\\d.]+ [KM]iB$/.test(cell('Workers', 'app', 'Memory'))",
            "/^[\\d.]+ [KM]iB$/.test(cell('Workers', 'php', 'Memory'))",
            "time(cell('Workers', 'app', 'Loop lag')) >= 200",
            "cell('Workers', 'php', 'Loop lag') === '–'",
        ],
    ),
    (
        "Overview",
        &[
            // Every second request takes 200 ms at least; a bucket is 9 % wide.
            "time(legend().match(/p95 ([\\d.]+ m?s)/)[1]) >= 180",
            "[...document.querySelectorAll('.bars li')].some(own => /: [1-9]\\d* requests/.test(own.title) && own.querySelector('i').clientHeight > 0)",
        ],
    ),
];

#[track_caller]
fn assert_panels(browser: &Browser, admin: &Admin) {
    let mut page = Page::open(browser);
    page.set_screen(1280, 900, false);
    page.load(&format!("http://{}/", admin.address));
    page.wait(
        "the page",
        "document.getElementById('state').textContent === 'live'",
    );
    page.value(READ);
    for (tab, panels) in PANELS {
        page.value(&format!("document.getElementById('tab-{tab}').click()"));
        for panel in panels {
            page.wait(tab, panel);
        }
    }
    assert!(page.complaints().is_empty(), "{:#?}", page.complaints());
}
