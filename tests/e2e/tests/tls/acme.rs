//! Certificates by ACME: from an authority of the test, and from Pebble if it is installed.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use howdah_testkit::{PATIENCE, Server, ServerBuilder, Signal, free_ports};
use howdah_tests::acme::{Acme, Ports};
use howdah_tests::tls::{Authority, Client};
use tempfile::TempDir;

const HOST: &str = "shop.example.com";

struct Setup {
    directory: TempDir,
    acme: Acme,
}

impl Setup {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let authority = Authority::new();
        std::fs::write(directory.path().join("root.pem"), authority.pem()).expect("written");
        let acme = Acme::start(directory.path(), authority);
        Self { directory, acme }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A server with these sites. The system chooses their ports.
    fn server(&self, sites: &str) -> ServerBuilder {
        Server::caddyfile(format!(
            "{{\nhttp_port 0\nhttps_port 0\nemail admin@example.com\nacme_ca {}\nacme_ca_root {}/root.pem\n\
             storage file_system {}/storage\n}}\n{sites}",
            self.acme.directory(),
            self.path().display(),
            self.path().display()
        ))
    }

    /// Path of the authority's data in this folder of the storage, where Caddy would have it.
    fn kept(&self, folder: &str) -> PathBuf {
        let authority = self.acme.directory();
        let authority = authority.trim_start_matches("https://");
        let authority = authority.replace([':', '/'], "-");
        self.path().join("storage").join(folder).join(authority)
    }

    /// Path of the file for the host's certificate with this extension.
    fn certificate(&self, end: &str) -> PathBuf {
        let folder = self.kept("certificates").join(HOST);
        folder.join(format!("{HOST}.{end}"))
    }

    /// Path of the file for the account with this suffix.
    fn account(&self, end: &str) -> PathBuf {
        let folder = self.kept("acme").join("users/admin@example.com");
        folder.join(format!("admin.{end}"))
    }
}

/// A private key as Caddy writes it.
fn as_of_caddy(key: &Path) -> String {
    let mut convert = Command::new("openssl");
    convert.args(["pkey", "-traditional", "-in"]).arg(key);
    let output = convert.output().expect("openssl is installed");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.starts_with("-----BEGIN EC PRIVATE KEY-----"), "{text}");
    text
}

fn json(file: &Path) -> serde_json::Value {
    let text = std::fs::read(file).expect("it is there");
    serde_json::from_slice(&text).expect("JSON")
}

/// Writes a file and creates its folders.
fn put(file: &Path, text: &str) {
    let folder = file.parent().expect("it is in one");
    std::fs::create_dir_all(folder).expect("created");
    std::fs::write(file, text).expect("written");
}

const SECRET: &str = "https://shop.example.com:0 {\nbind 127.0.0.1\nrespond secret\n}\n";
const OPEN: &str = "http://shop.example.com:0 {\nbind 127.0.0.1\nrespond open\n}\n";

#[test]
fn a_certificate_is_obtained_over_http_and_kept() {
    let setup = Setup::new();
    let sites = format!("{SECRET}{OPEN}");
    let server = setup.server(&sites).start();
    let client = Client::trusting(&setup.acme.root());
    let [https, http] = *server.addresses() else {
        panic!("two listeners: {:?}", server.addresses())
    };
    // There is no certificate yet, and nothing is served without one.
    client.get(https, HOST, "/").expect_err("no certificate");
    setup.acme.check_at(Ports {
        http: Some(http),
        https: None,
    });
    server.wait_log("certificate obtained");
    client
        .get(https, HOST, "/")
        .expect("an answer")
        .assert(200, "secret");
    assert_eq!(setup.acme.tried(), [Some("http-01".to_owned())]);
    // The challenge has been removed, and the site handles the path again.
    let mut connection = howdah_testkit::Connection::open(http).expect("it connects");
    let target = "/.well-known/acme-challenge/token-0";
    let request = howdah_testkit::Request::get(target).host(HOST);
    let response = connection.exchange(&request).expect("a response");
    response.assert(200, "open");
    let mode = |file: &Path| {
        let metadata = std::fs::metadata(file).expect("it is there");
        metadata.permissions().mode() & 0o777
    };
    for end in ["key", "crt", "json"] {
        assert_eq!(mode(&setup.certificate(end)), 0o600, "{end}");
    }
    assert_eq!(mode(&setup.account("key")), 0o600);
    assert_eq!(mode(&setup.kept("certificates")), 0o700);
    let facts = json(&setup.certificate("json"));
    assert_eq!(facts["sans"], serde_json::json!([HOST]));
    let issuer = &facts["issuer_data"];
    let account = json(&setup.account("json"));
    assert_eq!(issuer["ca"], setup.acme.directory());
    assert!(
        issuer["url"]
            .as_str()
            .is_some_and(|url| url.ends_with("/cert/0"))
    );
    assert_eq!(issuer["account"], account["location"]);
    assert_eq!(account["status"], "valid");
    server.stop();

    // After a restart, no authority is contacted.
    let server = setup.server(&sites).start();
    let https = server.address();
    client
        .get(https, HOST, "/")
        .expect("an answer")
        .assert(200, "secret");
    assert_eq!((setup.acme.tried().len(), setup.acme.accounts()), (1, 1));
    let locks = std::fs::read_dir(setup.path().join("storage/locks")).expect("it is there");
    assert_eq!(locks.count(), 0, "no lock is left");
}

#[test]
fn several_names_are_ordered_at_the_same_time_by_one_account() {
    let setup = Setup::new();
    let hosts = [HOST, "blog.example.com", "wiki.example.com"];
    let sites: String = hosts
        .iter()
        .map(|host| SECRET.replace(HOST, host) + &OPEN.replace(HOST, host))
        .collect();
    let server = setup.server(&sites).start();
    let [https, http] = *server.addresses() else {
        panic!("two listeners: {:?}", server.addresses())
    };
    // None of the hosts has a certificate yet.
    let all = || setup.acme.tried().len() == hosts.len();
    assert!(howdah_testkit::process::wait_until(PATIENCE, all));
    setup.acme.check_at(Ports {
        http: Some(http),
        https: None,
    });
    let client = Client::trusting(&setup.acme.root());
    for host in hosts {
        server.wait_line(host, |line| {
            line.message() == "certificate obtained" && line.text("host") == Some(host)
        });
        let answer = client.get(https, host, "/").expect("an answer");
        answer.assert(200, "secret");
    }
    assert_eq!(setup.acme.accounts(), 1);
}

#[test]
fn a_certificate_is_obtained_over_tls() {
    let setup = Setup::new();
    let server = setup.server(SECRET).start();
    let https = server.address();
    setup.acme.check_at(Ports {
        http: None,
        https: Some(https),
    });
    server.wait_log("certificate obtained");
    let client = Client::trusting(&setup.acme.root());
    client
        .get(https, HOST, "/")
        .expect("an answer")
        .assert(200, "secret");
    assert_eq!(setup.acme.tried(), [Some("tls-alpn-01".to_owned())]);
    // A later client with the protocol of the challenge gets no certificate.
    assert!(Client::certificate_for_acme(https, HOST).is_none());
}

#[test]
fn a_client_that_comes_for_a_name_waits_for_its_certificate() {
    let setup = Setup::new();
    // The `ask` endpoint is a site of the same server.
    let [port] = free_ports();
    let text = format!(
        "{{\nhttp_port 0\nhttps_port 0\nacme_ca {}\nacme_ca_root {1}/root.pem\nstorage file_system {1}/storage\n\
         on_demand_tls {{\nask http://127.0.0.1:{port}/may\n}}\n}}\n\
         https://:0 {{\nbind 127.0.0.1\ntls {{\non_demand\n}}\nrespond \"shop of {{host}}\"\n}}\n\
         http://127.0.0.1:{port} {{\n@known query domain=shop.example.com domain=other.example.com\n\
         respond @known yes\nrespond no 403\n}}\n",
        setup.acme.directory(),
        setup.path().display()
    );
    let server = Server::caddyfile(&text).start();
    let https = server.address();
    setup.acme.check_at(Ports {
        http: None,
        https: Some(https),
    });
    let client = Client::trusting(&setup.acme.root());
    // Several concurrent handshakes wait for one certificate.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let answer = client.get(https, HOST, "/").expect("an answer");
                answer.assert(200, "shop of shop.example.com");
            });
        }
    });
    assert_eq!(setup.acme.tried(), [Some("tls-alpn-01".to_owned())]);
    client
        .get(https, "stranger.example.com", "/")
        .expect_err("it may have none");
    // No public authority issues a certificate for this name, so only the `ask` endpoint is called.
    client
        .get(https, "localhost", "/")
        .expect_err("it may have none");
    client
        .get(https, "other.example.com", "/")
        .expect("an answer")
        .assert(200, "shop of other.example.com");
    assert_eq!(setup.acme.tried().len(), 2);
    server.stop();

    // After a restart the certificates are in the storage, and the authority is not contacted.
    let server = Server::caddyfile(&text).start();
    let client = Client::trusting(&setup.acme.root());
    client
        .get(server.address(), HOST, "/")
        .expect("an answer")
        .assert(200, "shop of shop.example.com");
    assert_eq!(setup.acme.tried().len(), 2);
    // A reload keeps the certificate, although the `ask` endpoint is gone.
    let (without, _) = text.split_once("http://127.0.0.1:").expect("in `ask`");
    let (_, after) = text.split_once("/may\n").expect("in `ask`");
    let (sites, _) = after.rsplit_once("http://127.0.0.1:").expect("the site");
    let text = format!("{without}http://127.0.0.1:{port}/may\n{sites}");
    let file = server.temp_dir().with_file_name("Caddyfile");
    std::fs::write(file, text).expect("written");
    server.signal(Signal::USR1);
    server.wait_log("configuration loaded");
    client
        .get(server.address(), HOST, "/")
        .expect("an answer")
        .assert(200, "shop of shop.example.com");
}

/// The authority validates this server over HTTP.
fn check_over_http(setup: &Setup, server: &Server) {
    let [_, http] = *server.addresses() else {
        panic!("two listeners: {:?}", server.addresses())
    };
    setup.acme.check_at(Ports {
        http: Some(http),
        https: None,
    });
}

#[test]
fn an_authority_that_has_enough_is_left_alone() {
    let setup = Setup::new();
    setup.acme.refuse("rateLimited");
    let sites = format!("{SECRET}{OPEN}");
    let server = setup.server(&sites).start();
    let line = server.wait_log("no certificate was obtained");
    assert!(
        line.raw.contains("rateLimited") && line.raw.contains("not now"),
        "{}",
        line.raw
    );
    assert_eq!(setup.acme.tried(), [None]);
    server.stop();
    let failed = std::fs::read_to_string(setup.kept("acme").join("shop.example.com.failed"));
    let failed = failed.expect("it is kept");
    let first = failed.lines().next().expect("a line");
    let (count, until) = first.split_once(' ').expect("two numbers");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let left = until.parse::<u64>().expect("a time") - now.expect("after 1970").as_secs();
    assert_eq!(count, "1");
    assert!((3000..4000).contains(&left), "{left} s");
    // A restart within this time does not contact the authority, and logs this.
    let server = setup.server(&sites).start();
    let line = server.wait_log("the next certificate request is at");
    assert!(
        line.raw.contains("rateLimited") && line.raw.contains(".failed"),
        "{}",
        line.raw
    );
    server.stop();
    assert_eq!(setup.acme.tried(), [None]);
}

#[test]
fn a_start_retries_what_failed_before() {
    let setup = Setup::new();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.expect("after 1970").as_secs();
    // An even number, so that the first challenge type is used.
    let text = format!("6 {}\n{} failed no route\n", now + 14_000, now - 3600);
    put(&setup.kept("acme").join("shop.example.com.failed"), &text);
    let server = setup.server(&format!("{SECRET}{OPEN}")).start();
    check_over_http(&setup, &server);
    server.wait_log("certificate obtained");
}

#[test]
fn an_expired_certificate_is_reported() {
    let setup = Setup::new();
    let authority = setup.acme.authority();
    let pair = authority.issue_with(setup.path(), "old", &[HOST], |params| {
        let day = std::time::Duration::from_secs(86_400);
        let now = std::time::SystemTime::now();
        params.not_before = (now - 90 * day).into();
        params.not_after = (now - day).into();
    });
    for (end, file) in [("key", &pair.key), ("crt", &pair.certificate)] {
        let text = std::fs::read_to_string(file).expect("it was made");
        put(&setup.certificate(end), &text);
    }
    let server = setup.server(&format!("{SECRET}{OPEN}")).start();
    server.wait_log("the stored certificate has expired");
    check_over_http(&setup, &server);
    server.wait_log("certificate obtained");
}

#[test]
fn a_certificate_that_cannot_be_kept_is_served() {
    let setup = Setup::new();
    // A file where the folder of the host's certificate would be.
    put(&setup.kept("certificates").join(HOST), "a file");
    let server = setup.server(&format!("{SECRET}{OPEN}")).start();
    server.expect_log("a stored certificate is unusable");
    check_over_http(&setup, &server);
    let line = server.wait_log("it is not in the storage");
    let folder = setup.kept("certificates").join(HOST);
    let folder = folder.display().to_string();
    assert!(line.raw.contains(&folder), "{}", line.raw);
    server.wait_log("certificate obtained");
    let client = Client::trusting(&setup.acme.root());
    let answer = client.get(server.address(), HOST, "/").expect("an answer");
    answer.assert(200, "secret");
}

#[test]
fn a_name_that_cannot_be_checked_has_no_certificate() {
    let setup = Setup::new();
    let server = setup.server(&format!("{SECRET}{OPEN}")).start();
    // No process listens at the address that the authority has for this server.
    setup.acme.check_at(Ports {
        http: None,
        https: None,
    });
    let line = server.wait_log("no certificate was obtained");
    assert!(
        line.raw.contains("could not check the name"),
        "{}",
        line.raw
    );
    let client = Client::trusting(&setup.acme.root());
    client
        .get(server.address(), HOST, "/")
        .expect_err("no certificate");
}

#[test]
fn one_of_two_servers_with_one_storage_orders() {
    let setup = Setup::new();
    let sites = format!("{SECRET}{OPEN}");
    let servers = [(); 2].map(|()| setup.server(&sites).start());
    // The authority validates at the second server, whichever has ordered.
    let [_, http] = *servers[1].addresses() else {
        panic!("two listeners: {:?}", servers[1].addresses())
    };
    setup.acme.check_at(Ports {
        http: Some(http),
        https: None,
    });
    let client = Client::trusting(&setup.acme.root());
    let both = servers.each_ref().map(|server| {
        server.wait_line("a certificate", |line| {
            ["certificate obtained", "certificate taken from the storage"].contains(&line.message())
        });
        let answer = client.get(server.address(), HOST, "/").expect("an answer");
        answer.assert(200, "secret");
        answer.certificate
    });
    assert_eq!(both[0], both[1]);
    assert_eq!(setup.acme.tried(), [Some("http-01".to_owned())]);
}

/// Writes a certificate of the authority to the storage as Caddy would.
fn leave_as_caddy(setup: &Setup) {
    let authority = setup.acme.authority();
    let pair = authority.issue(setup.path(), "caddys", &[HOST]);
    let chain = std::fs::read_to_string(&pair.certificate).expect("it was made");
    let (directory, base) = (setup.acme.directory(), setup.acme.directory());
    let base = base.trim_end_matches("/dir");
    put(&setup.certificate("key"), &as_of_caddy(&pair.key));
    put(&setup.certificate("crt"), &chain);
    let facts = format!(
        "{{\n\t\"sans\": [\n\t\t\"{HOST}\"\n\t],\n\t\"issuer_data\": {{\n\
         \t\t\"url\": \"{base}/cert/7\",\n\t\t\"ca\": \"{directory}\",\n\
         \t\t\"account\": \"{base}/account/7\"\n\t}}\n}}"
    );
    put(&setup.certificate("json"), &facts);
    // Only the key of the account counts here, so any certificate will do.
    put(&setup.account("key"), &as_of_caddy(&pair.key));
    let registration = format!(
        "{{\n\t\"status\": \"valid\",\n\t\"contact\": [\n\t\t\"mailto:admin@example.com\"\n\t],\n\
         \t\"termsOfServiceAgreed\": true,\n\t\"location\": \"{base}/account/7\"\n}}"
    );
    put(&setup.account("json"), &registration);
}

#[test]
fn certificates_of_caddy_are_served_without_a_new_order() {
    let setup = Setup::new();
    leave_as_caddy(&setup);
    let files = || ["key", "crt", "json"].map(|end| std::fs::read(setup.certificate(end)).ok());
    let before = files();
    let sites = format!("{SECRET}{OPEN}");
    let client = Client::trusting(&setup.acme.root());
    let server = setup.server(&sites).start();
    let answer = client.get(server.address(), HOST, "/");
    answer.expect("an answer").assert(200, "secret");
    server.stop();
    assert_eq!((setup.acme.tried().len(), setup.acme.accounts()), (0, 0));
    assert_eq!(files(), before);

    // A certificate with a different key is reported, and Caddy's account orders a new one.
    let other = setup.acme.authority().issue(setup.path(), "other", &[HOST]);
    put(&setup.certificate("key"), &as_of_caddy(&other.key));
    let server = setup.server(&sites).start();
    let line = server.wait_log("a stored certificate is unusable; requesting a new one");
    assert!(line.raw.contains("does not belong to"), "{}", line.raw);
    let [_, http] = *server.addresses() else {
        panic!("two listeners: {:?}", server.addresses())
    };
    setup.acme.check_at(Ports {
        http: Some(http),
        https: None,
    });
    server.wait_log("certificate obtained");
    let answer = client.get(server.address(), HOST, "/");
    answer.expect("an answer").assert(200, "secret");
    assert_eq!((setup.acme.tried().len(), setup.acme.accounts()), (1, 0));
    let account = &json(&setup.certificate("json"))["issuer_data"]["account"];
    assert!(
        account
            .as_str()
            .is_some_and(|url| url.ends_with("/account/7"))
    );
}

#[test]
fn files_of_an_earlier_version_are_moved_without_a_new_order() {
    let setup = Setup::new();
    let pair = setup.acme.authority().issue(setup.path(), "old", &[HOST]);
    let [key, chain] =
        [&pair.key, &pair.certificate].map(|file| std::fs::read_to_string(file).expect("made"));
    let authority = setup.acme.directory();
    let authority = authority.trim_start_matches("https://");
    let authority = authority.replace([':', '/'], "_");
    let folder = setup.path().join("storage/acme").join(authority);
    let old = folder.join("shop.example.com.pem");
    put(&old, &format!("{key}{chain}"));
    let client = Client::trusting(&setup.acme.root());
    for _ in 0..2 {
        let server = setup.server(SECRET).start();
        let answer = client.get(server.address(), HOST, "/");
        answer.expect("an answer").assert(200, "secret");
        assert!(!old.exists());
        assert_eq!(
            std::fs::read_to_string(setup.certificate("key"))
                .ok()
                .as_ref(),
            Some(&key)
        );
        server.stop();
    }
    assert_eq!((setup.acme.tried().len(), setup.acme.accounts()), (0, 0));
}

/// Kills the child process at the end of the test.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have exited by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `HOWDAH_TEST_PEBBLE` is the path of Pebble, Let's Encrypt's test server. `pebble-challtestsrv`
/// must be next to it: `go install github.com/letsencrypt/pebble/v2/cmd/...@latest`.
#[test]
fn pebble_issues_by_both_challenges() {
    let Some(pebble) = std::env::var_os("HOWDAH_TEST_PEBBLE").map(PathBuf::from) else {
        eprintln!("skipped: HOWDAH_TEST_PEBBLE does not name a Pebble");
        return;
    };
    let setup = Setup::new();
    let [acme, management, dns, dns_management, http, https] = free_ports();
    let own = Authority::new();
    let pair = own.issue(setup.path(), "pebble", &["127.0.0.1"]);
    std::fs::write(setup.path().join("root.pem"), own.pem()).expect("written");
    let config = serde_json::json!({"pebble": {
        "listenAddress": format!("127.0.0.1:{acme}"),
        "managementListenAddress": format!("127.0.0.1:{management}"),
        "certificate": pair.certificate, "privateKey": pair.key,
        "httpPort": http, "tlsPort": https,
        "ocspResponderURL": "", "externalAccountBindingRequired": false, "domainBlocklist": [],
        "retryAfter": {"authz": 1, "order": 1}, "keyAlgorithm": "ecdsa",
        "profiles": {"default": {"description": "the only one", "validityPeriod": 7_776_000}},
    }});
    let file = setup.path().join("pebble.json");
    std::fs::write(&file, config.to_string()).expect("written");
    let quiet = || std::fs::File::create(setup.path().join("pebble.log")).expect("created");
    let names = Command::new(pebble.with_file_name("pebble-challtestsrv"))
        .args(["-defaultIPv4", "127.0.0.1", "-defaultIPv6", ""])
        .args(["-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", ""])
        .arg("-dnsserver")
        .arg(format!("127.0.0.1:{dns}"))
        .arg("-management")
        .arg(format!("127.0.0.1:{dns_management}"))
        .stdout(quiet())
        .stderr(quiet())
        .spawn();
    let _names = Running(names.expect("pebble-challtestsrv is beside pebble"));
    let authority = Command::new(&pebble)
        .arg("-config")
        .arg(&file)
        .arg("-dnsserver")
        .arg(format!("127.0.0.1:{dns}"))
        .env("PEBBLE_VA_NOSLEEP", "1")
        // If nonces were rejected at random, an order could fail at random.
        .env("PEBBLE_WFE_NONCEREJECT", "0")
        .stdout(quiet())
        .stderr(quiet())
        .spawn();
    let _authority = Running(authority.expect("it can be run"));
    for port in [acme, management, dns_management] {
        let is_open = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        assert!(
            howdah_testkit::process::wait_until(PATIENCE, is_open),
            "{port}"
        );
    }
    let sites = "shop.example.com {\nbind 127.0.0.1\nrespond one\n}\n\
                 alpn.example.com {\nbind 127.0.0.1\nrespond two\n\
                 tls {\nissuer acme {\ndisable_http_challenge\n}\n}\n}\n";
    let text = format!(
        "{{\nhttp_port {http}\nhttps_port {https}\nacme_ca https://127.0.0.1:{acme}/dir\n\
         acme_ca_root {0}/root.pem\nstorage file_system {0}/storage\n}}\n{sites}",
        setup.path().display()
    );
    let server = Server::caddyfile(text).start();
    for host in [HOST, "alpn.example.com"] {
        server.wait_line(host, |line| {
            line.message() == "certificate obtained" && line.text("host") == Some(host)
        });
    }
    let roots = Client::trusting(&own.pem())
        .get(([127, 0, 0, 1], management).into(), "127.0.0.1", "/roots/0")
        .expect("Pebble tells its root");
    let client = Client::trusting(&roots.body);
    let address = ([127, 0, 0, 1], https).into();
    client
        .get(address, HOST, "/")
        .expect("an answer")
        .assert(200, "one");
    client
        .get(address, "alpn.example.com", "/")
        .expect("an answer")
        .assert(200, "two");
}
