//! Certificates that several servers share through Redis. Each server has a separate directory, as
//! on separate machines.

use std::path::Path;

use howdah_testkit::{PATIENCE, Redis, RedisTls, Server, ServerBuilder, process};
use howdah_tests::acme::{Acme, Ports};
use howdah_tests::tls::{Authority, Client};
use tempfile::TempDir;

const HOST: &str = "shop.example.com";
const SITES: &str = "https://shop.example.com:0 {\nbind 127.0.0.1\nrespond secret\n}\n\
                     http://shop.example.com:0 {\nbind 127.0.0.1\nrespond open\n}\n";
const SECURE: &str = "https://shop.example.com:0 {\nbind 127.0.0.1\nrespond secret\n}\n";
const INTERNAL: &str = "https://localhost:0 {\nbind 127.0.0.1\nrespond local\n}\n";
const AWAY: &str = "the certificate storage does not respond";
const BACK: &str = "the certificate storage responds again";

struct Setup {
    directory: TempDir,
    acme: Acme,
    redis: Redis,
}

impl Setup {
    fn new() -> Option<Self> {
        let redis = Redis::start()?;
        let directory = tempfile::tempdir().expect("a directory");
        let authority = Authority::new();
        std::fs::write(directory.path().join("root.pem"), authority.pem()).expect("written");
        let acme = Acme::start(directory.path(), authority);
        Some(Self {
            directory,
            acme,
            redis,
        })
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A server for this machine with these sites.
    fn server(&self, machine: &str, sites: &str) -> ServerBuilder {
        Server::caddyfile(format!(
            "{{\nhttp_port 0\nhttps_port 0\nemail admin@example.com\nacme_ca {}\nacme_ca_root {root}/root.pem\n\
             storage redis {{\naddress 127.0.0.1:{}\npassword {}\ndb 2\nkey_prefix shop/tls\n\
             root {root}/{machine}\n}}\n}}\n{sites}",
            self.acme.directory(),
            self.redis.port(),
            Redis::PASSWORD,
            root = self.path().display(),
        ))
    }

    fn client(&self) -> Client {
        Client::trusting(&self.acme.root())
    }

    fn keys(&self) -> String {
        self.redis.ask(&["-n", "2", "KEYS", "shop/tls/*"])
    }
}

fn serves(client: &Client, server: &Server) -> Vec<u8> {
    let answer = client.get(server.address(), HOST, "/").expect("an answer");
    answer.assert(200, "secret");
    answer.certificate
}

fn has_certificate(server: &Server) {
    server.wait_line("a certificate", |line| {
        ["certificate obtained", "certificate taken from the storage"].contains(&line.message())
    });
}

#[test]
fn one_of_two_servers_orders_and_either_responds_over_http() {
    let Some(setup) = Setup::new() else { return };
    let servers = ["one", "two"].map(|machine| setup.server(machine, SITES).start());
    // The authority validates at the second server, whichever has ordered.
    let [_, http] = *servers[1].addresses() else {
        panic!("two listeners: {:?}", servers[1].addresses())
    };
    setup.acme.check_at(Ports {
        http: Some(http),
        https: None,
    });
    let client = setup.client();
    let both = servers.each_ref().map(|server| {
        has_certificate(server);
        serves(&client, server)
    });
    assert_eq!(both[0], both[1]);
    assert_eq!(setup.acme.tried(), [Some("http-01".to_owned())]);
    assert_eq!(setup.acme.accounts(), 1);
    // The challenge has been removed, and the site handles the path again.
    let mut connection = howdah_testkit::Connection::open(http).expect("it connects");
    let target = "/.well-known/acme-challenge/token-0";
    let request = howdah_testkit::Request::get(target).host(HOST);
    let response = connection.exchange(&request).expect("a response");
    response.assert(200, "open");
    let keys = setup.keys();
    assert!(
        keys.contains("shop.example.com/shop.example.com.key"),
        "{keys}"
    );
    assert!(!keys.contains("challenges"), "{keys}");
    // The lock is released after the certificate was logged.
    let unlocked = || !setup.keys().contains("locks");
    assert!(process::wait_until(PATIENCE, unlocked), "{}", setup.keys());
    for server in servers {
        server.stop();
    }
    // A third machine finds it there and contacts no authority.
    let third = setup.server("three", SITES).start();
    assert_eq!(serves(&client, &third), both[0]);
    assert_eq!(setup.acme.tried().len(), 1);
}

#[test]
fn either_answers_over_tls() {
    let Some(setup) = Setup::new() else { return };
    let servers = ["one", "two"].map(|machine| setup.server(machine, SECURE).start());
    let https = servers[1].address();
    setup.acme.check_at(Ports {
        http: None,
        https: Some(https),
    });
    for server in &servers {
        has_certificate(server);
    }
    assert_eq!(setup.acme.tried(), [Some("tls-alpn-01".to_owned())]);
    assert!(Client::certificate_for_acme(https, HOST).is_none());
}

#[test]
fn certificates_in_redis_are_served_during_an_outage_even_after_a_start() {
    let Some(mut setup) = Setup::new() else {
        return;
    };
    let server = setup.server("one", SITES).start();
    let [_, http] = *server.addresses() else {
        panic!("two listeners: {:?}", server.addresses())
    };
    setup.acme.check_at(Ports {
        http: Some(http),
        https: None,
    });
    has_certificate(&server);
    let client = setup.client();
    let first = serves(&client, &server);
    setup.redis.stop();
    assert_eq!(serves(&client, &server), first, "it stays in use");
    // Also after a reload without the copies.
    let [copies, hidden] = ["one", "hidden"].map(|name| setup.path().join(name));
    std::fs::rename(&copies, &hidden).expect("moved");
    server.expect_log(AWAY);
    server.expect_log("the storage has no certificate for this host");
    server.signal(howdah_testkit::Signal::USR1);
    server.wait_log("configuration loaded");
    assert_eq!(serves(&client, &server), first, "it stays in use");
    server.stop();
    std::fs::remove_dir_all(&copies).ok();
    std::fs::rename(&hidden, &copies).expect("moved back");

    let server = setup.server("one", SITES).start();
    server.expect_log(AWAY);
    assert_eq!(serves(&client, &server), first, "its copy");
    server.stop();
    // A different machine has no certificate, logs this, and retries.
    let other = setup.server("two", SITES).start();
    other.expect_log(AWAY);
    client
        .get(other.address(), HOST, "/")
        .expect_err("no certificate");
    setup.redis.start_again();
    other.wait_log(BACK);
    has_certificate(&other);
    assert_eq!(serves(&client, &other), first);
    assert_eq!(setup.acme.tried().len(), 1, "nobody was asked for another");
}

#[test]
fn the_lock_of_a_server_that_was_killed_is_free_after_a_while() {
    let Some(setup) = Setup::new() else { return };
    let first = setup.server("one", SITES).start();
    let held = || setup.keys().contains("/locks/");
    assert!(process::wait_until(PATIENCE, held), "it asks");
    // The authority has not validated yet.
    first.kill();
    first.wait_exit();
    assert!(held(), "it had no time to give it back");
    let key = setup.keys();
    let lock = key.lines().find(|key| key.contains("/locks/"));
    let lock = lock.expect("it is held");
    let left: u64 = setup
        .redis
        .ask(&["-n", "2", "PTTL", lock])
        .parse()
        .expect("a time");
    assert!(left <= 30_000, "{left} ms");
    // Expires the lock immediately.
    setup.redis.ask(&["-n", "2", "PEXPIRE", lock, "1"]);
    let second = setup.server("two", SITES).start();
    let [_, http] = *second.addresses() else {
        panic!("two listeners: {:?}", second.addresses())
    };
    setup.acme.check_at(Ports {
        http: Some(http),
        https: None,
    });
    second.wait_log("certificate obtained");
    serves(&setup.client(), &second);
}

#[test]
fn the_internal_authority_is_that_of_all() {
    let Some(mut setup) = Setup::new() else {
        return;
    };
    let servers = ["one", "two"].map(|machine| setup.server(machine, INTERNAL).start());
    let root = |machine: &str| {
        std::fs::read_to_string(setup.path().join(machine).join("authority/root.crt"))
    };
    let client = Client::trusting(&root("one").expect("a copy"));
    for server in &servers {
        let answer = client.get(server.address(), "localhost", "/");
        answer.expect("an answer").assert(200, "local");
    }
    for server in servers {
        server.stop();
    }
    setup.redis.stop();
    // A machine with a copy continues to issue certificates. One without a copy waits.
    let one = setup.server("one", INTERNAL).start();
    one.expect_log(AWAY);
    let answer = client.get(one.address(), "localhost", "/");
    answer.expect("an answer").assert(200, "local");
    let three = setup.server("three", INTERNAL).start();
    three.expect_log(AWAY);
    client
        .get(three.address(), "localhost", "/")
        .expect_err("no certificate");
    setup.redis.start_again();
    three.wait_log(BACK);
    let served = || client.get(three.address(), "localhost", "/").is_ok();
    assert!(process::wait_until(PATIENCE, served), "it is issued then");
}

#[test]
fn keys_travel_over_tls_to_the_verified_server_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let (authority, other) = (Authority::new(), Authority::new());
    std::fs::write(path("root.pem"), authority.pem()).expect("written");
    std::fs::write(path("other.pem"), other.pem()).expect("written");
    let pair = authority.issue(directory.path(), "redis", &["127.0.0.1"]);
    let Some(redis) = Redis::over_tls(RedisTls {
        certificate: pair.certificate,
        key: pair.key,
        root: path("root.pem"),
    }) else {
        return;
    };
    let server = |machine: &str, root: &str| {
        Server::caddyfile(format!(
            "{{\nadmin off\nstorage redis {{\naddress 127.0.0.1:{}\npassword {}\ntls_enabled true\n\
             tls_server_certs_path {}\nroot {}\n}}\n}}\n{INTERNAL}",
            redis.port(),
            Redis::PASSWORD,
            path(root).display(),
            path(machine).display(),
        ))
    };
    // The server at this address has no certificate of the named authority.
    let wary = server("wary", "other.pem").start();
    wary.expect_log(AWAY);
    wary.wait_log("invalid peer certificate");
    assert_eq!(redis.ask(&["DBSIZE"]), "0");
    let servers = ["one", "two"].map(|machine| server(machine, "root.pem").start());
    let root = std::fs::read_to_string(path("one/authority/root.crt")).expect("a copy");
    let client = Client::trusting(&root);
    for server in &servers {
        let answer = client.get(server.address(), "localhost", "/");
        answer.expect("an answer").assert(200, "local");
    }
    assert!(redis.ask(&["KEYS", "*"]).contains("authority"));
}
