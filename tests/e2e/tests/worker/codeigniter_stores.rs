//! CodeIgniter's worker script with each database, and with Redis or memcached for its cache and
//! its sessions. Tests of missing services (`HOWDAH_TEST_*`, see `tests/databases.sh`) print a note
//! and are skipped.
//!
//! `HOWDAH_ROUNDS` sets the number of requests of a test with many connections (default 1000).

use howdah_testkit::load::at_once;
use howdah_testkit::{PATIENCE, Request, Server, Www};
use howdah_tests::codeigniter::{application, serve, serve_with, version};
use howdah_tests::traffic::many;
use howdah_tests::worker::cookie;
use serde_json::json;

const WORKERS: usize = 4;

/// Value of a variable of `tests/databases.sh`.
fn named(variable: &str) -> Option<String> {
    let value = std::env::var(variable).ok();
    if value.is_none() {
        println!("skipped: {variable} is not set; run the test under tests/databases.sh");
    }
    value
}

/// `.env` for the database in `variable`, whose value is a list of `key=value`.
fn database(variable: &str, driver: &str, charset: &str) -> Option<String> {
    let text = named(variable)?;
    let get = |key: &str| {
        text.split(' ')
            .find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
            .unwrap_or_default()
    };
    Some(format!(
        "database.default.DBDriver = {driver}\ndatabase.default.charset = {charset}\n\
         database.default.hostname = {}\ndatabase.default.port = {}\ndatabase.default.username = {}\n\
         database.default.password = '{}'\ndatabase.default.database = {}\n",
        get("host"),
        get("port"),
        get("user"),
        get("password"),
        get("dbname"),
    ))
}

fn postgresql() -> Option<String> {
    database("HOWDAH_TEST_PGSQL", "Postgre", "utf8")
}

fn mariadb() -> Option<String> {
    database("HOWDAH_TEST_MYSQL", "MySQLi", "utf8mb4")
}

/// `.env` for cache and sessions in one store.
fn store(variable: &str, name: &str, class: &str, scheme: &str) -> Option<String> {
    let address = named(variable)?;
    let (host, port) = address.split_once(':').expect("an address and a port");
    Some(format!(
        "cache.handler = {name}\ncache.{name}.host = {host}\ncache.{name}.port = {port}\n\
         session.driver = 'CodeIgniter\\Session\\Handlers\\{class}'\nsession.savePath = '{scheme}{address}'\n",
    ))
}

fn redis() -> Option<String> {
    store("HOWDAH_TEST_REDIS", "redis", "RedisHandler", "tcp://")
}

fn memcached() -> Option<String> {
    if version().is_some_and(|version| version == "4.7.0") {
        println!("skipped: CodeIgniter 4.7.0 does not find its own path of sessions in memcached");
        return None;
    }
    store("HOWDAH_TEST_MEMCACHED", "memcached", "MemcachedHandler", "")
}

fn site(settings: &str, workers: usize) -> Option<(Www, Server)> {
    let www = application(settings)?;
    let server = serve(&www, workers);
    Some((www, server))
}

/// However a request leaves a transaction open, the next one on its worker does not see it.
fn transactions_do_not_leak(settings: Option<String>) {
    let Some((_www, server)) = settings.and_then(|settings| site(&settings, 1)) else {
        return;
    };
    server.get("/store/create").assert(200, "created");
    let pid = server.get("/store/add/first").json()["pid"].clone();
    for how in ["return", "statement", "exit"] {
        for round in 0..3 {
            let lost = format!("lost-{how}-{round}");
            // CodeIgniter rolls back transactions of its own methods. A statement that it did not
            // see is left to the server, and so is a request that ends before CodeIgniter's loop
            // continues.
            server.allow_log("rolled back a transaction that the request left open");
            server.allow_log("Uncommitted transaction detected");
            server
                .get(&format!("/store/leave/{lost}/{how}"))
                .assert(200, "left");
            let kept = server.get(&format!("/store/add/kept-{how}-{round}")).json();
            assert_eq!(kept["found"], 1, "{kept}");
            assert_eq!(kept["pid"], pid, "the worker went on");
            server.get(&format!("/store/found/{lost}")).assert(200, "0");
            server
                .get(&format!("/store/found/kept-{how}-{round}"))
                .assert(200, "1");
        }
    }
}

#[test]
fn transactions_of_postgresql_do_not_leak() {
    transactions_do_not_leak(postgresql());
}

#[test]
fn transactions_of_mariadb_do_not_leak() {
    transactions_do_not_leak(mariadb());
}

/// All workers share the cache, and each client has its own session.
fn cache_and_sessions_are_shared(settings: Option<String>) {
    let Some((_www, server)) = settings.and_then(|settings| site(&settings, WORKERS)) else {
        return;
    };
    for mark in ["a", "b", "c"] {
        server
            .get(&format!("/store/remember/{mark}"))
            .assert(200, mark);
    }
    let cookies: Vec<_> = (0..3)
        .map(|_| {
            let first = server.get("/probe/count");
            first.assert(200, "1");
            cookie(&first)
        })
        .collect();
    for n in 2..12 {
        for cookie in &cookies {
            let request = Request::get("/probe/count").header("Cookie", cookie);
            server.send(&request).assert(200, &n.to_string());
        }
    }
}

#[test]
fn cache_and_sessions_in_redis() {
    cache_and_sessions_are_shared(redis());
}

#[test]
fn cache_and_sessions_in_memcached() {
    cache_and_sessions_are_shared(memcached());
}

/// Sessions of one worker use one connection.
fn sessions_keep_their_connection(settings: Option<String>) {
    let Some((_www, server)) = settings.and_then(|settings| site(&settings, 1)) else {
        return;
    };
    for _ in 0..5 {
        server.get("/store/pooled").assert(200, "pooled");
        server.get("/probe/exit").assert_status(200);
    }
}

#[test]
fn sessions_in_redis_keep_their_connection() {
    sessions_keep_their_connection(redis());
}

#[test]
fn sessions_in_memcached_keep_their_connection() {
    sessions_keep_their_connection(memcached());
}

/// A request is handled as usual after the database has closed the worker's connection.
fn lost_connections_come_back(settings: Option<String>) {
    let Some(www) = settings.and_then(|settings| application(&settings)) else {
        return;
    };
    // By default, the server replaces the worker before CodeIgniter checks the connection.
    let server = serve_with(&www, 1, "connections ignore");
    for _ in 0..3 {
        server.get("/store/two").assert(200, "12");
        server.get("/store/lose").assert(200, "lost");
    }
    server.get("/store/create").assert(200, "created");
    for _ in 0..3 {
        server.get("/store/leave/lost/lost").assert(200, "left");
        server.get("/store/found/lost").assert(200, "0");
    }
}

#[test]
fn lost_connections_of_postgresql_come_back() {
    lost_connections_come_back(postgresql());
}

#[test]
fn lost_connections_of_mariadb_come_back() {
    lost_connections_come_back(mariadb());
}

/// Many connections at the same time: each response has the values of its request, and the database
/// has one connection per worker.
fn many_clients(database: Option<String>, store: Option<String>, clients: usize) {
    let settings = database.zip(store).map(|(a, b)| a + &b);
    let Some((_www, server)) = settings.and_then(|settings| site(&settings, WORKERS)) else {
        return;
    };
    let each = many("HOWDAH_ROUNDS", 1000).div_ceil(clients);
    at_once(clients, |client| {
        let mut connection = server.connect();
        connection.set_timeout(PATIENCE * 20).expect("a limit");
        for n in 0..each {
            let mark = format!("{client}-{n}");
            let request = Request::get(format!("/store/all/{mark}"));
            let answer = connection
                .exchange(&request)
                .unwrap_or_else(|error| panic!("request {mark}: {error}"));
            answer.assert_status(200);
            let wanted = json!({"session": mark, "cache": mark, "database": mark});
            assert_eq!(answer.json(), wanted);
        }
    });
    let held = server.get("/store/connections").text();
    let held: usize = held.parse().expect("a number");
    // The worker of this page has one of them. Other tests may use the database at the same time.
    assert!(held >= 1 && held < clients, "{held} connections");
}

#[test]
fn a_hundred_clients_of_postgresql_and_redis() {
    many_clients(postgresql(), redis(), 100);
}

#[test]
fn two_hundred_clients_of_postgresql_and_redis() {
    many_clients(postgresql(), redis(), 200);
}

#[test]
fn a_hundred_clients_of_mariadb_and_memcached() {
    many_clients(mariadb(), memcached(), 100);
}

#[test]
fn two_hundred_clients_of_mariadb_and_redis() {
    many_clients(mariadb(), redis(), 200);
}
